"""Of the commands that coding agents run every day, how many ask: fewer than half in `ask`, fewer than one in seven in `auto`.

Each line stands for one that models wrote, with paths of a small project. Behind `->` stands what it needs beyond the workspace:
the network, or to write `.git`. In `auto` such a one fails in its sandbox and asks to be run outside, so it counts as asking there.
"""

import pytest

from outrider.permissions.policy.decide import Access, decide
from permissions.looking import looked

LOOKING = """
ls
ls -la
ls -la src tests
ls -R src | head -50
pwd
whoami
date
uname -a
which python3
cat README.md
cat src/app.py
cat -n src/app.py | sed -n '1,80p'
cat src/app.py src/util.py
head -40 src/app.py
tail -n 20 src/app.py
sed -n '10,60p' src/app.py
nl -ba src/app.py | sed -n '20,40p'
wc -l src/app.py
wc -l src/*.py
find . -name '*.py'
find . -name '*.py' -not -path './.venv/*' | head -30
find src -type f | sort
find . -maxdepth 2 -type d
find . -name '*.test.ts' -newer package.json
tree -L 2
grep -rn 'def main' src
grep -rn TODO . --include=*.py
grep -n 'import' src/app.py
grep -E 'class|def ' src/app.py | head -20
grep -rl util src | xargs wc -l
rg 'def main'
rg -n 'total' src tests
rg --files
rg --files -g '*.py' | head -100
rg -n -C 3 'parse' src/app.py
rg -c import
du -sh .
du -sh src tests
file src/app.py
stat src/app.py
diff src/app.py src/util.py
cmp src/app.py src/util.py
sort requirements.txt | uniq -c
cut -d= -f1 requirements.txt
awk '{print $1}' requirements.txt
awk 'NR>=10 && NR<=20' src/app.py
jq '.scripts' package.json
jq -r '.dependencies | keys[]' package.json
cat package.json | jq .scripts
python3 --version
node --version
npm --version
echo $PATH
echo "---" && ls src
cd src && ls
cd src && grep -n total *.py
basename src/app.py
dirname src/app.py
realpath src
readlink -f src/app.py
test -f setup.py && echo yes
[ -d tests ] && ls tests
strings src/app.py | head
xxd src/app.py | head -5
hexdump -C src/app.py | head -5
md5sum src/app.py
sha256sum src/*.py
column -t -s, data.csv | head
tr -d '\\r' < src/app.py | head
ls src/*.py | wc -l
ls -t | head -5
cat src/app.py | grep -c import
printf '%s\\n' src/*.py
true
sleep 1
id
find . -type f -name '*.go' -exec grep -l 'func main' {} +
find . -type f | cut -d/ -f2 | sort | uniq -c | sort -rn | head
find src -name '*.py' -print0 | xargs -0 wc -l | sort -n | tail
grep -rnw src -e total
grep -rn '/api/' src
grep -rn '#!/usr/bin/env' .
egrep -rn 'foo|bar' src
rg -l 'TODO|FIXME' -g '!node_modules'
rg --type py 'class [A-Z]' -o | sort | uniq -c | sort -rn | head
fd -e py
ag total src
bat README.md
less README.md
tac src/app.py
awk -F, '{s+=$2} END {print s}' data.csv
awk -F/ '{print $NF}' requirements.txt
sed -n '/class/,/^$/p' src/app.py
sed 's/foo/bar/g' src/app.py | head -20
comm -12 <(sort requirements.txt) <(sort data.csv)
ls | tr / _
jq -c '.[]' package.json
python3 -m json.tool package.json
cat package.json | python3 -m json.tool
go version
cargo --version
java -version
npx tsc --version
make -n test
man ls | head
command -v node
diff -ru src tests
for f in src/*.py; do echo $f; wc -l $f; done
tar tf out.tgz
unzip -l a.zip
cargo build --help
pytest --help
npm run
bash -n tests/run.sh
tree -I 'node_modules|.venv' -L 3
"""
GIT = """
git status
git status --short
git status -sb
git diff
git diff --stat
git diff HEAD
git diff src/app.py
git diff --cached
git diff HEAD~1 -- src
git log --oneline -10
git log --oneline --graph -20
git log -p -2 -- src/app.py
git log --stat -3
git log --author=me --since=yesterday
git show HEAD
git show HEAD --stat
git show HEAD:src/app.py
git blame src/app.py
git branch
git branch -a
git branch --show-current
git remote -v
git rev-parse HEAD
git rev-parse --abbrev-ref HEAD
git ls-files
git ls-files | head -50
git grep -n total
git tag
git stash list
git describe --tags
git merge-base HEAD HEAD~1
git shortlog -sn
git config --get user.name
git check-ignore -v build
git reflog -5
git add -A -> git
git add src/app.py -> git
git commit -m 'Fix it' -> git
git checkout -b fix -> git
git checkout -- src/app.py -> git
git stash -> git
git stash pop -> git
git restore src/app.py -> git
git push -> network
git pull -> network
git fetch -> network
git log --oneline main..HEAD
git log -S total --oneline
git log --follow -- src/app.py
git log -L 1,5:src/app.py
git diff main...HEAD --name-only
git diff --check
git branch -vv
git remote get-url origin
git stash show -p
git cat-file -p HEAD
git ls-tree -r HEAD --name-only
git rev-list --count HEAD
git for-each-ref --sort=-committerdate refs/heads
git worktree list
git submodule status
git -C src status
git --no-pager log -5
git switch -c feat -> git
git merge main -> git
git reset --hard HEAD -> git
git clean -fd -> git
git cherry-pick abc123 -> git
git clone https://example.com/a -> network
"""
TESTING = """
pytest
pytest -q
pytest -x -q
pytest tests/test_app.py
pytest tests/test_app.py::test_total -v
pytest -k total
python -m pytest -q
python -m pytest tests -x 2>&1 | tail -20
python3 -m pytest -q 2>&1 | tail -5
python -m unittest
python -m unittest discover -s tests
python -m unittest tests.test_app -v
uv run pytest -q
.venv/bin/python -m pytest
npm test
npm test -- --watch=false
npm run test
npx jest
npx jest src/app.test.ts
npx vitest run
yarn test
pnpm test
node --test
node test.js
go test ./...
go test -run TestTotal ./pkg
go vet ./...
cargo test
cargo test total
make test
make check
tox -e py311
ctest --output-on-failure
bundle exec rspec
mvn -q test
./gradlew test
php vendor/bin/phpunit
dotnet test
bash tests/run.sh
coverage run -m pytest
PYTHONPATH=. pytest -q
timeout 60 pytest -q
poetry run pytest
python manage.py test
CI=1 npm test
npx mocha
npx playwright test
bun test
deno test
cargo nextest run
RUST_BACKTRACE=1 cargo test
mix test
swift test
pytest -q && ruff check .
"""
BUILDING = """
ruff check .
ruff check --fix .
ruff format .
mypy src
pyright
black --check .
black .
isort .
flake8 src
npm run lint
npm run build
npm run typecheck
npx tsc --noEmit
npx tsc -p .
npx eslint src
npx eslint --fix src
npx prettier --check .
npx prettier --write src
make
make build
make clean
make -j4
cmake -B build
cmake --build build
cargo build
cargo check
cargo clippy
cargo fmt
go build ./...
gofmt -w src
gcc -o app src/main.c
python -m build
python setup.py build
python src/app.py
python3 -c 'print(1)'
python3 -c "import src.app; print(src.app.total([1]))"
python3 - <<'X'\\nprint(1)\\nX
node src/app.js
node -e 'console.log(1)'
tsc --version
mkdir -p src/new
touch src/new/__init__.py
mv src/app.py src/main.py
cp src/app.py src/app2.py
rm src/app2.py
rm -rf build
chmod +x run.sh
sed -i 's/a/b/' src/app.py
echo done > out.txt
cat > notes.txt <<'X'\\nx\\nX
pylint src
npx stylelint src
shellcheck tests/run.sh
cargo fmt --check
biome check .
bandit -r src
python -m py_compile src/app.py
ninja -C build
tar czf out.tgz src
ln -s src/app.py link.py
git apply fix.patch
"""
INSTALLING = """
npm install -> network
npm ci -> network
npm install lodash -> network
pip install -e . -> network
pip install -r requirements.txt -> network
pip install pytest -> network
python -m venv .venv
uv sync -> network
uv add httpx -> network
yarn install -> network
pnpm install -> network
cargo add serde -> network
go mod tidy -> network
go get ./... -> network
bundle install -> network
curl -s https://example.com -> network
apt-get install -y jq -> network
pip list
pip show pytest
npm ls --depth=0
pip list --outdated -> network
pip freeze
pip check
python -m pip list
uv pip list
npm list -g --depth 0
npm view react version -> network
yarn why lodash
cargo tree
go list -m all
gem list
apt list --installed
dpkg -l | grep python
rustup show
docker compose up -d -> network
poetry install -> network
"""
ALL = [
    tuple(line.replace("\\n", "\n").split(" -> "))
    for lines in (LOOKING, GIT, TESTING, BUILDING, INSTALLING)
    for line in lines.strip().splitlines()
]


@pytest.fixture(scope="module")
def decided(tmp_path_factory):
    """Which commands ask, by mode, where bubblewrap works."""
    folder = tmp_path_factory.mktemp("usual")
    for name in ("src", "tests", "pkg"):
        (folder / name).mkdir()
    for name in ("src/app.py", "src/util.py", "README.md", "package.json", "requirements.txt", "data.csv"):
        (folder / name).write_text("x\n")
    asking = {"ask": [], "auto": []}
    for (text, *needs), command in zip(ALL, looked(folder, *(one[0] for one in ALL)), strict=True):
        reads = command.reads_in_sandbox and not any(command.closed)
        confined = command.in_sandbox() if reads else command
        access = Access("execute", command=confined, can_be_undone=not reads)
        for mode, names in asking.items():
            if decide(access, mode, frozenset()).verdict == "ask" or (mode == "auto" and needs):
                names.append(text)
    return asking


def test_there_are_enough_of_them():
    assert len({text for text, *_ in ALL}) == len(ALL) >= 200


@pytest.mark.parametrize(("mode", "part"), [("ask", 1 / 2), ("auto", 1 / 7)])
def test_few_of_them_ask(decided, mode, part):
    asking = decided[mode]
    assert len(asking) / len(ALL) < part, "\n".join(asking)


def test_what_only_looks_never_asks(decided):
    looking = LOOKING.strip().splitlines()
    assert sorted(set(decided["ask"]) & set(looking)) == []
