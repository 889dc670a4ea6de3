"""Programs that are known to only read, and the words that make them do more.

The sandbox decides what a command can do; this table only says which commands are worth running in a read-only one. So it
lists the few options by which a reader writes or runs something: one that is missing here fails against a read-only mount.
Two other questions have no sandbox to fall back on and are answered more strictly: whether a program may run without a
question on a machine without a sandbox (`reads_alone`), and whether a rule for its name covers it (`does_more`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from outrider.permissions.programs.git import git_does_more
from outrider.permissions.shell.model import Program, Word
from outrider.permissions.shell.through import SHELLS
from outrider.ports.patterns import SPACE, WORD, linear


def names(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Reader:
    """A program that only reads, but for some of its words."""

    more: frozenset[str] = frozenset()
    """Options with which it does more: letters stand anywhere in a cluster, long ones may be cut short."""
    operands: int | None = None
    """How many operands it reads; what follows them it would write or set. None: all."""
    alone: bool = False
    """Whether it may run without a sandbox where its words are known: nothing else in them makes it write, run, or go through folders."""
    below: frozenset[str] | None = frozenset()
    """Options with which it shows texts of files that it finds in folders; None: it does so always."""
    valued: str = ""
    """Letters of options behind which a value stands."""
    needs: frozenset[str] = frozenset()
    """Options without one of which it does more; empty where it reads without."""
    script: Callable[[Sequence[Word]], str | None] | None = None
    """Why a program in its words is not known to only read; that counts where no sandbox holds it."""


def _table(*rows: tuple[str, Reader]) -> dict[str, Reader]:
    return {name: reader for called, reader in rows for name in called.split()}


def _told(*rows: tuple[str, str, Reader]) -> dict[tuple[str, str], Reader]:
    return {
        (name, first): reader
        for called, firsts, reader in rows
        for name in called.split()
        for first in firsts.split()
    }


_SED_ADDRESS: Final = r"(?:[0-9]+|\$|/[^/\\\[\n]*/)"
_SED_SAFE: Final = linear(
    "reading.sed",
    rf"(?:(?:{_SED_ADDRESS}(?:,{_SED_ADDRESS})?)?!?(?:[pdqDPNnhHgGx=l]|s/[^/\\\[\n]*/[^/\\\n]*/[gpI0-9]*|s\|[^|\\\[\n]*\|[^|\\\n]*\|[gpI0-9]*);?)+",
)
_SED_WRITES: Final = linear(
    "reading.sed_writes",
    r"(?:^|[;{}\n])[ \t]*(?:[0-9$,~+! \t]|/[^/\n]*/[IM]?)*[wWe](?:[ \t]|$)"
    r"|[/|,#@:!_%][gpiImM0-9]*[we](?:[ \t;}\n]|$)",
)
"""What a script has where it writes a file or runs a command, and few others have."""
_SED_OPTIONS: Final = names("-n -E -r -s -u -z --quiet --silent --regexp-extended")


def _sed(arguments: Sequence[Word]) -> str | None:
    texts = [word.text for word in arguments]
    while texts and texts[0] in _SED_OPTIONS:
        texts.pop(0)
    if texts and texts[0] in {"-e", "-ne"}:
        texts.pop(0)
    if not texts or texts[0] is None or _SED_SAFE.fullmatch(texts[0]) is None:
        return "its script is not known to only read"
    is_operand = all(text is not None and not text.startswith("-") for text in texts[1:])
    return None if is_operand else "sed takes one script here, before the files"


_AWK_UNSAFE: Final = linear(
    "reading.awk", rf"[|>@/]|system|getline|close|ENVIRON|ARGV|include|load|printf?[{SPACE}]*\("
)


def _awk(arguments: Sequence[Word]) -> str | None:
    rest = list(arguments)
    while rest and (text := rest[0].text) is not None and text.startswith("-"):
        if text in {"-F", "-v"} and len(rest) > 1 and rest[1].is_one:
            rest = rest[2:]
        elif text.startswith("-F"):
            rest = rest[1:]
        else:
            return f"{text} is not known to only read"
    if not rest or rest[0].text is None or _AWK_UNSAFE.search(rest[0].text):
        return "its program is not known to only read"
    return next(
        (f"{word.source} may be an option" for word in rest[1:] if (word.text or "-").startswith("-")), None
    )


_AWK_RUNS: Final = linear(
    "reading.awk_runs",
    rf"system[{SPACE}]*\(|[|>][{SPACE}&]*\"[A-Za-z0-9_./~-]|>>|getline|@[{SPACE}]*(?:load|include)",
)
"""What a program has where it writes a file or runs a command, and few others have."""


def _says_more(name: str, arguments: Sequence[Word]) -> str | None:
    """Why a script says plainly that it does more than read. A sandbox would stop it; the user hears of it before."""
    if name == "sed":
        says = any(word.text is not None and _SED_WRITES.search(word.text) for word in arguments)
    elif name in {"awk", "gawk", "mawk", "nawk"}:
        # What follows a dash is a separator or a value.
        texts = [word.text or "" for word in arguments]
        says = any(_AWK_RUNS.search(text) for text in texts if not text.startswith("-") or text[:2] == "--")
    else:
        says = False
    if says:
        return f"the script of {name} writes a file or runs a command"
    return None


_JQ_UNSAFE: Final = linear(
    "reading.jq",
    rf"(?:^|[^{WORD}.]|\.\.)env(?:[^{WORD}]|$)|\$ENV|input|import|include|debug|stderr|modulemeta|\$__prog",
)


def _jq(arguments: Sequence[Word]) -> str | None:
    if any(word.text is None or _JQ_UNSAFE.search(word.text) for word in arguments):
        return "its filter is not known to read its files alone"
    return None


def _date(arguments: Sequence[Word]) -> str | None:
    for before, word in zip(("", *(one.text for one in arguments)), arguments, strict=False):
        text = word.text or ""
        if not text.startswith(("+", "-")) and before not in {"-d", "--date", "-r", "--reference"}:
            return f"{word.source} may set the clock"
    return None


def _command(arguments: Sequence[Word]) -> str | None:
    shows = arguments and arguments[0].text in {"-v", "-V"}
    return None if shows else "what it runs is not known"


def _less(arguments: Sequence[Word]) -> str | None:
    runs = next((word for word in arguments if (word.text or word.prefix).startswith("+")), None)
    return None if runs is None else f"{runs.source} may run a command"


def _set(arguments: Sequence[Word]) -> str | None:
    return None if arguments else "it shows the environment"


_PLAIN: Final = Reader(alone=True)
_HASH: Final = Reader(names("-c --check"), alone=True)
_GREP: Final = Reader(alone=True, below=names("-r -R -d --recursive --dereference-recursive --directories"))
_SED: Final = Reader(names("-i -I -f --in-place --inplace --file"), alone=True, valued="e", script=_sed)
_AWK: Final = Reader(
    names("-i -l -o -p -d -E --include --load --pretty-print --profile --dump-variables --exec"),
    alone=True,
    valued="Fv",
    script=_awk,
)
_FD: Final = Reader(names("-x -X -l --exec --exec-batch --list-details"), valued="tedEcS")

_READERS: Final[Mapping[str, Reader]] = _table(
    ("ls cat tac nl head tail cut paste fold fmt expand unexpand rev tr comm join stat realpath readlink basename dirname cmp", _PLAIN),
    ("column", Reader(names("-c --columns --output-width"), alone=True, valued="soNRTEH")),
    ("less more", Reader(names("-o -O -k -K --log-file --LOG-FILE --lesskey-file --lesskey-src"), script=_less)),
    ("man", Reader(names("-P -H -X -C --pager --html --gxditview --config-file"))), ("whereis", Reader(names("-B -M -S"))),
    ("od hexdump seq expr echo printf pwd id whoami arch nproc uptime free tty uname which type test [ [[", _PLAIN),
    ("true false : exit break continue return wait local shift read sleep cd locale", _PLAIN),
    ("base64", Reader(names("-o --output"), alone=True, valued="wbi")),
    ("wc du df", Reader(names("--files0-from"), alone=True)),
    ("set", Reader(alone=True, script=_set)), ("command", Reader(alone=True, script=_command)),
    ("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum shasum", _HASH),
    ("grep egrep fgrep", _GREP),
    ("sort", Reader(names("-o -S -T --output --buffer-size --temporary-directory --compress-program --files0-from"), alone=True, valued="kt")),
    ("uniq", Reader(operands=1, alone=True, valued="fsw")),
    ("xxd", Reader(names("-r -revert --revert"), operands=1, valued="cglos")),
    ("date", Reader(names("-s -f --set --file"), alone=True, valued="Idr", script=_date)),
    ("file", Reader(names("-C -f -z -Z -m -S --compile --files-from --uncompress --uncompress-noreport --magic-file --no-sandbox"), alone=True)),
    ("tree", Reader(names("-o -R --output"), alone=False)),
    ("strings", Reader()),
    ("objdump readelf size nm c++filt addr2line", Reader(names("--plugin"))),
    ("zcat bzcat xzcat zstdcat zipinfo hexyl tokei eza exa lsd", Reader()),
    ("bat batcat", Reader(names("--pager --generate-config-file --build --clear"))), ("cloc scc", Reader(names("--out --report-file --output -o"), valued="f")),
    ("ag ack", Reader(names("-z --pager --search-zip"), below=None, valued="ABCGgm")),
    ("yq", Reader(names("-i -s --inplace --in-place --split-exp"), script=_jq)),
    ("xmllint", Reader(names("-o -output -shell --output --shell"))), ("iconv", Reader(names("-o --output"), valued="ft")),
    ("hostname", Reader(names("-F -b --file --boot"), operands=0)), ("lscpu lsb_release getconf groups cal factor sum b3sum", Reader()),
    ("diff", Reader(below=None)),
    ("rg", Reader(names("-z --pre --search-zip --hostname-bin"), below=None, valued="ABCeEfgjmMrtT")),
    ("fd fdfind", _FD),
    ("find", Reader(names("-delete -fprint -fprint0 -fprintf -fls -ok -okdir"), alone=True, below=names("-L -follow"))),
    ("sed", _SED), ("awk gawk mawk nawk", _AWK),
    ("jq", Reader(names("-f -L --from-file --library-path"), script=_jq)),
    ("shellcheck yamllint", Reader()),
    ("mypy", Reader(names("--install-types --non-interactive"))),
    ("pyright basedpyright", Reader(names("-w --watch --createstub --writebaseline"))),
)  # fmt: skip
_READERS_TOLD: Final[Mapping[tuple[str, str], Reader]] = _told(
    ("ruff", "check", Reader(names("-w -o --fix --fix-only --unsafe-fixes --add-noqa --output-file --watch"))),
    ("black isort", "--check", Reader()),
    ("gofmt", "-l -d", Reader(names("-w -cpuprofile"))),
    ("pip pip3", "list show freeze check", Reader()),
    ("npm", "ls list", Reader()),
    ("go", "list doc env", Reader(names("-w -u -mod -modfile -toolexec -overlay"))),
    ("pnpm", "list ls why", Reader()), ("npm", "explain why root prefix query", Reader()),
    ("cargo", "tree metadata pkgid locate-project", Reader()), ("rustup", "show which", Reader()),
    ("rustc", "--explain --print", Reader(names("-o"))),
    ("bundle", "list show info", Reader()), ("gem", "list which env environment", Reader()), ("composer", "show", Reader()),
    ("poetry", "show", Reader()), ("conda mamba", "list info", Reader()), ("pyenv", "versions version which root", Reader()),
    ("openssl", "dgst", Reader(names("-out -engine -provider -provider-path -sign -config"))),
    ("unzip", "-l -v -Z -lv -Z1", Reader()), ("gzip", "-l", Reader()), ("jar", "tf -tf", Reader()),
    ("tar", "-tf tf -tvf tvf -tzf tzf -tzvf tzvf -tjf tjf -tJf tJf --list",
     Reader(names("-I -F -x -c -r -u -A --to-command --checkpoint-action --use-compress-program --info-script --new-volume-script --rsh-command --rmt-command"), valued="fC")),
    ("dpkg", "-l -L -s -S -p --list --listfiles --status --search --print-avail --print-architecture", Reader(names("-i -r -P --pre-invoke --post-invoke --status-logger"))),
    ("dpkg-query", "-l -L -s -S -W --list --listfiles --status --search --show", Reader()),
    ("rpm", "-q -qa -qi -ql -qf -qR --query", Reader(names("--erase --install --upgrade --pipe --eval --define --undefine --load --macros --rcfile"))),
    ("apt", "list show search policy depends rdepends", Reader(names("-o -c --option --config-file"))),
    ("apt-cache", "policy show search depends rdepends madison pkgnames showpkg stats", Reader(names("-o -c --option --config-file"))),
    ("pacman", "-Q -Qi -Ql -Qo -Qs -Qe -Qq", Reader(names("-S -R -U -D --sync --remove --upgrade --hookdir --config"))),
    ("brew", "list ls info desc deps leaves --prefix --cellar", Reader()), ("snap", "list", Reader()),
    ("dotnet", "--info --list-sdks --list-runtimes", Reader()), ("yarn", "list why", Reader()),
    ("bash sh dash", "-n", Reader(names("-c -i -l -s --init-file --rcfile --login"))),
    ("php", "-l", Reader()), ("ruby", "-c -wc", Reader(names("-r -e -I"))),
    ("node", "--check -c", Reader(names("-r -e -p --require --import --loader --experimental-loader --eval --print"))),
)  # fmt: skip
"""Programs that only read where their first argument says so. They obey files of the project, so that they need a sandbox."""
_READERS_TOLD_TWICE: Final[frozenset[tuple[str, ...]]] = frozenset(
    (*one.split(), last)
    for one, lasts in (
        ("uv pip", "list show freeze check tree"), ("npm pkg", "get"), ("npm config", "get list ls"), ("pip config", "list get"),
        ("pip3 config", "list get"), ("go mod", "graph why"), ("conda env", "list"), ("poetry env", "info list"),
        ("rustup toolchain", "list"), ("rustup target", "list"), ("rustup component", "list"),
    )
    for last in lasts.split()
)  # fmt: skip
"""Programs that only read where their first two arguments say so."""
_FIXES: Final = names("--fix")
_CHECKS: Final = names("--check")
_CHECKERS: Final[Mapping[str, Reader]] = _table(
    ("flake8 pycodestyle pydocstyle cpplint hadolint actionlint luacheck selene errcheck", Reader(names("--output-file --tee --install-hook"))),
    ("pylint vulture radon", Reader(names("--output --init-hook"))), ("bandit", Reader(names("-o --output"), valued="cflntsxbip")),
    ("black", Reader(needs=names("--check --diff"))), ("isort", Reader(needs=names("-c --check --check-only --diff"), valued="lmspofbdt")),
    ("ruff", Reader(names("--fix --fix-only --unsafe-fixes --add-noqa --output-file --watch"), needs=_CHECKS | names("--diff"))),
    ("mypy", _READERS["mypy"]), ("pyright basedpyright", _READERS["pyright"]),
    ("tsc vue-tsc", Reader(names("--build -b --watch -w --init --generateTrace --generateCpuProfile"), needs=names("--noEmit"), valued="p")),
    ("eslint oxlint", Reader(names("-o --fix --output-file --cache --init --suppress-all --prune-suppressions"), valued="cf")),
    ("stylelint", Reader(names("-o --fix --output-file --cache"), valued="cf")),
    ("prettier", Reader(names("-w --write --cache"), needs=names("-c -l --check --list-different"))),
    ("markdownlint markdownlint-cli2", Reader(names("-f -o --fix --output"), valued="ci")),
    ("make gmake", Reader(needs=names("-n --just-print --dry-run --recon"), valued="CfIoWj")),
    ("codespell typos", Reader(names("-w -i --write-changes"), valued="LDISx")), ("shfmt", Reader(names("-w --write"))),
    ("clang-format", Reader(names("-i"))), ("clang-tidy", Reader(names("-fix --fix --fix-errors --fix-notes --export-fixes -load --load"))),
    ("cppcheck", Reader(names("--dump --output-file --cppcheck-build-dir --addon --plist-output --clang"))),
    ("gofmt gofumpt goimports", Reader(names("-w -cpuprofile"))), ("rustfmt", Reader(needs=_CHECKS)), ("stylua", Reader(needs=_CHECKS)),
    ("gcc g++ cc c++ clang clang++", Reader(names("-wrapper -fplugin -load -save-temps -specs --specs"), needs=names("-fsyntax-only"))),
    ("rubocop", Reader(names("-a -A -x --fix-layout --autocorrect --autocorrect-all --auto-gen-config --regenerate-todo --out -o --init"), valued="cfrCD")),
)  # fmt: skip
"""Programs that look for what is wrong in sources. Their settings may name code of the project, so that they need a sandbox.

They are known by whatever starts them for the project. A rule for one of them covers all that it does.
"""
_CHECKERS_TOLD: Final[Mapping[tuple[str, str], Reader]] = _told(
    ("cargo", "fmt", Reader(needs=_CHECKS)),
    ("ruff", "check", _READERS_TOLD["ruff", "check"]),
    (
        "biome",
        "check lint format ci",
        Reader(names("--write --fix --unsafe --apply --apply-unsafe --suppress")),
    ),
)
_MODULES: Final[Mapping[str, Reader]] = _table(
    ("json.tool", Reader(operands=1)),
    ("site platform sysconfig tokenize ast tabnanny dis", Reader()),
)
"""Modules of Python's own that only read, as `python -m` runs them."""
_STARTERS: Final = (
    ("npx", "--no-install"), ("npx",), ("pnpm", "exec"), ("yarn", "exec"), ("yarn", "run"), ("yarn",), ("bunx",), ("bundle", "exec"),
    ("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("pipenv", "run"), ("hatch", "run"), ("python", "-m"), ("python3", "-m"),
)  # fmt: skip
"""What starts a program that is installed for the project. It changes nothing in a read-only sandbox, and installs nothing without a network."""
_TELLS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(
        names("python python2 python3 pip pip3 cargo rustc rustup rustfmt uv ruff mypy pytest wget curl node npm npx pnpm yarn bun deno ruby "
              "gem bundle perl php make cmake ninja meson gcc g++ cc c++ clang clang++ docker podman gh sqlite3 psql black tsc java javac "
              "mvn gradle vim nvim bash rg fd jq git gfortran rustup rustfmt clang-format clang-tidy cppcheck gdb lldb valgrind ffmpeg "
              "poetry pipx pdm hatch conda mamba pyenv flake8 pylint isort pyright composer dotnet swift kotlinc scala ghc stack cabal "
              "elixir lua luajit R Rscript julia terraform ansible aws gcloud az tar zip unzip make openssl ssh nginx redis-cli mysql "
              "protoc bazel tmux tree emacs sed awk gawk grep find jest vitest mocha eslint prettier vite webpack next tsx ts-node turbo nx "
              "playwright rails rake rspec rubocop phpunit golangci-lint helm kubectl dart flutter tox nox coverage pre-commit"),
        names("--version -V -v -version --help"),
    ),
    **dict.fromkeys(names("go zig hugo terraform openssl"), names("version help --help")),
}  # fmt: skip
"""Programs that tell their version and their options, with the words for it. Some obey a file of the project even then, so that they need a sandbox."""
_HELP_ON: Final = names(
    "npm pip pip3 cargo rustup uv go docker podman kubectl helm gh poetry conda brew terraform composer gem"
)
"""Programs of which the help on a sub-command of their own runs nothing else."""
_LISTS: Final = frozenset({("npm", "run"), ("npm", "run-script"), ("pnpm", "run")})
"""Whole commands that list what there is to run."""


_SEPARATORS: Final[Mapping[str, str]] = {
    "cut": "d", "paste": "d", "sort": "t", "column": "s", **dict.fromkeys(names("awk gawk mawk nawk"), "F"),
}  # fmt: skip
"""Programs with the letter of the option behind which a sign stands that separates."""
_BEFORE_PATTERN: Final = {
    **dict.fromkeys(
        names("grep egrep fgrep"),
        linear("reading.grep", r"-[abcEFGHhIiLlnoPqRrsvwxyzZUT]+|-[ABCm][0-9]*|--(?:include|exclude|exclude-dir|color|colour)=.*"),
    ),
    "rg": linear("reading.rg", r"-[abcFHhIiLlNnopqSsUuvwx0P]+|-[ABCmgtT]|-[ABCm][0-9]+|--(?:glob|type|color|max-count)=.*|--hidden|--no-ignore"),
}  # fmt: skip
"""Options that may stand before the pattern of a search."""
_TAKES_NEXT: Final = linear("reading.takes_next", r"-[ABCmgtT]")
_GIVES_PATTERN: Final = linear("reading.gives_pattern", r"-[A-Za-z0-9]*[ef].*|--(?:reg|fil|type-list).*")
"""Options with which the first operand is no pattern."""
_HIDES: Final = linear(
    "reading.hides",
    r"\$'[^']*\\(?:x[2-7][0-9A-Fa-f]|[uU]0*[2-7][0-9A-Fa-f]|0?4[1-7]|0?[5-7][0-7]|1[0-7][0-7])",
)
"""A sign that could be typed, written by its number (Bash Reference Manual, "ANSI-C Quoting")."""
_OF_FILES: Final = names(
    "cat tac nl head tail less more bat batcat od hexdump xxd strings base64 wc stat file rev fold fmt expand unexpand comm join cmp diff "
    "sort uniq paste md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum b3sum cksum shasum zcat bzcat xzcat zstdcat hexyl"
)


def only_reads(program: Program) -> str | None:
    """Why a program is not known to only read in a read-only sandbox; None where it is.

    Args:
        program: As it was read from a command line. What is known only at run time cannot harm there.
    """
    if (problem := _problem(program)) is not None:
        return problem
    if not program.argv:
        return None
    name, arguments = program.argv[0].text or "", program.argv[1:]
    if _tells(program.argv):
        return None
    if name == "git":
        return git_does_more(arguments)
    reader = _reader_of(program)
    if reader is None:
        return _checks_more(program.argv)
    if (
        name in {"command", "set", "date", "jq", "yq", "less", "more"}
        and reader.script is not None
        and (why := reader.script(arguments))
    ):
        return why
    return _says_more(name, arguments) or _more(reader, name, arguments)


def reads_alone(program: Program) -> str | None:
    """Why a program is not known to only read where no sandbox holds it, so that all of its words count; None where it is."""
    if (problem := only_reads(program)) is not None:
        return problem
    if not program.argv:
        return None
    name, arguments = program.argv[0].text or "", program.argv[1:]
    reader = _reader_of(program)
    if reader is None or not reader.alone:
        return f"{name} only reads in a sandbox, and it would run without a read-only one"
    if reader.script is not None and (why := reader.script(arguments)):
        return why
    if (
        word := next((word for word in arguments if _is_of(word, reader.below or frozenset())), None)
    ) is not None:
        return f"{word.source} makes it search folders, and it would run without a read-only sandbox"
    return does_more(program)


def does_more(program: Program) -> str | None:
    """Why a program that mostly reads may do more this time, as far as a rule for its name goes; None where it does not.

    A rule lets it run in a sandbox that can write, or in none: what may turn out to be an option counts as one.
    """
    if (problem := only_reads(program)) is not None:
        return problem
    name, arguments = (program.argv[0].text or "", program.argv[1:]) if program.argv else ("", ())
    reader = _reader_of(program)
    if name == "git":
        unsure = next((word for word in arguments if _may_be_option(word)), None)
        return None if unsure is None else f"{unsure.source} may be an option"
    if reader is None:
        return None
    if reader.script is not None and (why := reader.script(arguments)):
        return why
    takes_any = reader.more or reader.operands is not None or reader.below != frozenset()
    unsure = next((word for word in arguments if _may_be_option(word)), None) if takes_any else None
    return None if unsure is None else f"{unsure.source} may be an option"


def mostly_reads(name: str) -> bool:
    """Whether a program reads, and does more with some words."""
    reader = _READERS.get(name)
    return reader is not None and (bool(reader.more) or reader.operands is not None)


def goes_below(program: Program) -> bool:
    """Whether a program shows texts of files in folders that it goes through by itself."""
    reader = _reader_of(program)
    if reader is None:
        return False
    return reader.below is None or any(_is_of(word, reader.below) for word in program.argv[1:])


def _reader_of(program: Program) -> Reader | None:
    """What is known of a program with this first argument."""
    name, first = (
        (program.argv[0].text or "", program.argv[1].text if len(program.argv) > 1 else None)
        if program.argv
        else ("", None)
    )
    return _READERS.get(name) or (None if first is None else _READERS_TOLD.get((name, first)))


def _checks_more(argv: Sequence[Word]) -> str | None:
    """Why a program is not known to only look for what is wrong, whatever starts it; None where it is."""
    texts = tuple(word.text or "" for word in argv[:3])
    if texts in _READERS_TOLD_TWICE:
        return None
    starter = next((one for one in _STARTERS if texts[: len(one)] == one and len(argv) > len(one)), ())
    argv = argv[len(starter) :]
    name, first = argv[0].text or "", argv[1].text if len(argv) > 1 else None
    reader = _CHECKERS_TOLD.get((name, first or "")) or _CHECKERS.get(name)
    if starter and _tells(argv):
        return None
    if starter[-1:] == ("-m",):
        reader = reader or _MODULES.get(name) or _READERS_TOLD.get((name, first or ""))
    if reader is None:
        said = " ".join((*starter, argv[0].text or argv[0].source)) if starter else name
        return f"{said} is not known to only read" if said else "what it runs is not known"
    return _more(reader, name, argv[1:])


def _tells(argv: Sequence[Word]) -> bool:
    """Whether a program only tells its version, its options, or what there is to run."""
    texts = tuple(word.text or "" for word in argv[:4])
    if len(texts) == 3 and texts[0] in _HELP_ON:
        return texts[2] == "--help" and not texts[1].startswith("-")
    return texts in _LISTS or (len(texts) == 2 and texts[1] in _TELLS.get(texts[0], ()))


def _problem(program: Program) -> str | None:
    if program.unresolved is not None:
        return program.unresolved
    if hides := next((word for word in (*program.argv, *program.reads) if _HIDES.search(word.source)), None):
        return f"{hides.source} hides what it says"
    if program.is_privileged:
        return f"{program.through[0]} runs it as another user"
    if program.writes:
        return f"it writes into {program.writes[0].source}"
    if program.sets:
        return f"it sets {program.sets[0]}"
    if program.argv and (program.argv[0].text or "xargs") == "xargs":
        return "what it runs is not known"
    return None


def _more(reader: Reader, name: str, arguments: Sequence[Word]) -> str | None:
    if (
        word := next((word for word in arguments if _is_of(word, reader.more, reader.valued)), None)
    ) is not None:
        return f"{word.source} is not known to only read"
    if reader.needs and not any(_is_of(word, reader.needs, reader.valued) for word in arguments):
        return f"{name} is not known to only read without {min(reader.needs, key=len)}"
    if reader.operands is None:
        return None
    rest, values = list(arguments), [f"-{letter}" for letter in reader.valued]
    while rest and (rest[0].text or "").startswith("-") and rest[0].text != "-":
        del rest[: 2 if rest[0].text in values else 1]
    # Some systems see no option behind the first operand.
    if len(rest) > reader.operands or any(
        (word.text is None and not word.is_one) or word.is_glob for word in rest
    ):
        return f"{name} writes into its second file"
    return None


def naming(program: Program) -> Sequence[Word]:
    """The words of a program that may name files: not what is for certain a separator, or the pattern of a search."""
    name, rest = program.name or "", program.argv[1:]
    if name == "tr":
        return ()
    if (letter := _SEPARATORS.get(name)) is not None:
        return [
            word
            for word, before in zip(rest, program.argv, strict=False)
            if not _separates(word, before, letter)
        ]
    flags = _BEFORE_PATTERN.get(name)
    if flags is None or any(_GIVES_PATTERN.fullmatch(word.text or word.prefix) for word in rest):
        return rest
    at = 0
    while at < len(rest) and flags.fullmatch(rest[at].text or ""):
        at += 2 if _TAKES_NEXT.fullmatch(rest[at].text or "") else 1
    is_pattern = at < len(rest) and rest[at].is_one and not rest[at].may_be_option
    return (*rest[:at], *rest[at + 1 :]) if is_pattern else rest


def _separates(word: Word, before: Word, letter: str) -> bool:
    text = word.text or ""
    return (len(text) == 1 and before.text == f"-{letter}") or (
        len(text) == 3 and text.startswith(f"-{letter}")
    )


def shell_before(program: Program) -> str | None:
    """Why nobody sees at a glance what runs: a shell in the shell gets it as a text; None where none does."""
    shell = next((name for name in program.through if name in SHELLS), None)
    return None if shell is None else f"{shell} gets it as a text"


def reads_files(program: Program) -> bool:
    """Whether every operand of a program is a file whose text, or what the system knows of it, it shows."""
    return program.name in _OF_FILES


def _is_of(word: Word, options: frozenset[str], valued: str = "") -> bool:
    """Whether a word is one of these options, or has one of their letters in it.

    Args:
        word: The word.
        options: Letters with one dash, long ones with one or two.
        valued: Letters behind which the rest of a word is a value.
    """
    text = word.text if word.text is not None else word.prefix
    if not text.startswith("-") or not options:
        return False
    key = text.partition("=")[0]
    if key in options:
        return True
    if text.startswith("--"):
        return len(key) > 2 and any(one.startswith(key) for one in options)
    letters = takewhile(lambda letter: letter not in valued, key[1:])
    return any(f"-{letter}" in options for letter in letters)


def _may_be_option(word: Word) -> bool:
    return word.text is None and (word.may_be_option or not word.is_one)
