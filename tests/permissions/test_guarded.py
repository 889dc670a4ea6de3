"""Which files are shut or protected, by their names and by `.outriderignore`."""

import time

import pytest

from outrider.agent.context import instruction_files
from outrider.agent.customization import commands, hooks, servers, skills
from outrider.permissions.policy.protected_files import Guarded, meaning_in_commands, obeyed

PROTECTED = [
    "lefthook.yml", ".gitconfig", "x/.config/git/hooks/a", ".lazy.lua", ".emacs.d/init.el", ".vs/x.json", ".mcp.json", ".cursor/mcp.json", ".config/fish/conf.d/a.fish",
    ".mise.toml", "mise.toml", ".ssh/authorized_keys", ".gitlab/ci/a.yml", "azure-pipelines-2.yaml", "cloudbuild.yaml", "buildspec.yml", "go.work.sum", ".terraform.lock.hcl", "a/../.git/hooks/x",
    ".git/config", ".git/hooks/pre-commit", "sub/.git/config", ".gitmodules", ".husky/pre-push", ".vscode/settings.json",
    ".vscode/tasks.json", "app.code-workspace", ".idea/workspace.xml", ".devcontainer/devcontainer.json", ".nvim.lua",
    ".exrc", ".dir-locals.el", ".bashrc", "home/.zshenv", ".profile", ".envrc", "fish/config.fish",
    ".github/workflows/ci.yml", "sub/.github/workflows/deep/ci.yml", ".gitlab-ci.yml", "Jenkinsfile", ".circleci/config.yml",
    "package-lock.json", "web/yarn.lock", "poetry.lock", "Cargo.lock", "go.sum", ".outriderignore", ".GIT/config",
    "PACKAGE-LOCK.JSON", ".outrider/rules.toml", ".git", "sub/.git", ".forgejo/workflows/ci.yml", "pixi.lock", "app/pubspec.lock",
]  # fmt: skip
OBEYED = [
    ".cargo/config.toml", "sub/.cargo/config", ".pylintrc", ".gdbinit", ".lldbinit", ".lldbinit-lldb", ".clangd", ".fleet/run.json", ".theia/settings.json",
    ".devcontainer/devcontainer.json", ".claude/settings.json", "sub/.claude/commands/x.md", ".gemini/settings.json", ".codex/config.toml", ".windsurf/mcp.json",
    ".cursor/rules/a.mdc", ".github/chatmodes/a.chatmode.md", ".roomodes", "QWEN.md", ".codebuddy/settings.json", "CODEBUDDY.md", ".vim/coc-settings.json", ".roo/rules/a.md", ".github/instructions/a.md", "AGENTS.md", "sub/Agents.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md",
    ".hg/hgrc", ".jj/repo/config.toml", ".bsp/sbt.json", ".Rprofile", ".ghci", ".irbrc", ".pryrc", ".ocamlinit", "gradlew", ".mvn/jvm.config", ".mvn/extensions.xml",
    "tools/bazel", ".pnpmfile.cjs", "lib/x.pth", ".direnv/flake-profile", ".ruby-lsp/Gemfile", ".vim/init.vim", ".rules", "WARP.md", ".openhands/setup.sh", ".crush.json",
    ".cursorrules", "sitecustomize.py", "lib/usercustomize.py", ".kateproject", ".luarc.json", ".nvim/init.lua", ".pdbrc",
    ".local.vimrc", ".tool-versions", "mise/config.toml", ".mise.toml", ".mise.local.toml", "mise.dev.toml", ".config/mise/conf.d/a.toml", ".config/mise.toml",
    ".psqlrc", ".bundle/config", ".bundle/plugin/index", ".yarn/releases/yarn-4.cjs", ".yarn/plugins/x.cjs", ".yarn/sdks/typescript/lib/tsserver.js", ".iex.exs",
    "tasks.vs.json", "app/launch.vs.json", ".overcommit.yml", ".git-hooks/pre_commit/x.rb", ".ripgreprc", ".ctags.d/a.ctags", ".ctags", "rust-analyzer.toml", ".lsp/config.edn",
    ".yardopts", ".perldb", ".jvmopts", ".bazeliskrc", "user.bazelrc", "jupyter_server_config.py", "ipython_config.py", ".xonshrc", ".qoder/settings.json", ".factory/mcp.json",
]  # fmt: skip
"""What a command may not change either."""
NAMED = [
    ".venv/bin/python", "node_modules/.bin/tool", "package.json", "sub/pyproject.toml", "conftest.py", "tests/conftest.py", "Makefile", "setup.py",
    "Cargo.toml", "build.rs", "hie.yaml", "rust-toolchain.toml", ".eslintrc.js", "eslint.config.mjs", ".prettierrc.js", "prettier.config.js", ".luacheckrc", "mypy.ini",
    ".rubocop.yml", "phpstan.neon", "Directory.Build.props", "app/App.csproj", "build.sbt", "flake.nix", "CMakePresets.json", "env/bin/python",
    ".pnp.cjs", "pytest.ini", "vite.config.ts", "jest.config.js", ".babelrc.json", "tailwind.config.js", "Steepfile", ".rspec",
]  # fmt: skip
"""What programs write every day, and others run."""
ORDINARY = [
    "README.md", "git/config", ".gitignore", "vscode/settings.json", "src/lock.py", "package.json", "conftest.py", "agents.py", "claude/x.md", "cargo/config.toml", "gemini.mdx", ".github/README.md",
    "docs/.github.md", "x.bashrc.md", "cargo.lock.md", "settings.json",
]  # fmt: skip


SECRET = [
    ".env", ".env.local", ".env-prod", ".env_test", "prod.env", "sub/.ENV", ".envrc", "id_ed25519", "server.key", "AuthKey_X.p8", ".netrc", ".npmrc",
    ".yarnrc.yml", ".pypirc", "credentials.json", ".aws/credentials", ".aws/config", ".kube/config", "kubeconfig", ".docker/config.json",
    ".git-credentials", "prod.tfvars", "terraform.tfstate", "service-account-prod.json", "app-firebase-adminsdk-x.json", ".vault-token",
    "application_default_credentials.json", ".m2/settings.xml", ".config/gh/hosts.yml", ".cargo/credentials.toml", ".composer/auth.json",
]  # fmt: skip
NOT_SECRET = [
    ".env.example", ".env.sample", ".env-example", "env.py", "config.json", "src/config", "settings.xml", "hosts.yml", "key.py",
    "environment.ts", "docs/credentials-howto.md", "secret.py", "public.asc", "nuget.config",
]  # fmt: skip


@pytest.mark.parametrize("path", SECRET)
def test_what_holds_keys_by_its_name_is_shut(path):
    guard = Guarded([]).why("read", [names(path)])
    assert guard is not None
    assert guard.kind == "shut"


@pytest.mark.parametrize("path", [".npmrc", ".yarnrc", ".yarnrc.yml", ".terraformrc", ".env.d/../.envrc"])
def test_settings_that_hold_keys_are_obeyed_as_well(path):
    assert meaning_in_commands(path) == "protected"


@pytest.mark.parametrize("path", NOT_SECRET)
def test_what_only_looks_like_it_can_be_read(path):
    assert Guarded([]).why("read", [names(path)]) is None


def names(path, root="/home/ada/hello"):
    return [path, f"{root}/{path}"]


@pytest.mark.parametrize("path", PROTECTED)
def test_what_something_else_obeys_is_protected_against_edits(path):
    guarded = Guarded([])
    guard = guarded.why("edit", [names(path)])
    assert guard is not None
    assert guard.kind == ("shut" if path == ".envrc" else "protected")
    assert guard.reason.startswith(path)
    if guard.kind == "protected":
        assert guarded.why("read", [names(path)]) is None


@pytest.mark.parametrize("path", [*OBEYED, ".venv/bin/python", "node_modules/x/index.js"])
def test_what_programs_run_at_once_is_protected_against_edits(path):
    guard = Guarded([]).why("edit", [names(path)])
    assert guard is not None
    assert guard.kind == "protected"
    assert Guarded([]).why("read", [names(path)]) is None


@pytest.mark.parametrize(
    "path",
    [*OBEYED, ".vscode/tasks.json", ".envrc", ".husky/pre-commit", ".git/config", ".github/workflows/ci.yml"],
)
def test_one_table_counts_for_commands_as_well(path):
    assert meaning_in_commands(path) == "protected"


@pytest.mark.parametrize(
    "path",
    [
        *instruction_files.NAMES,
        *(
            f"{place.folder}/{'a' if place.suffix[0] == '.' else ''}{place.suffix}"
            if place.folder
            else place.suffix
            for module in (commands, skills, hooks, servers)
            for place in module.PLACES
        ),
        ".outrider/memory.md",
        ".outrider/settings.toml",
    ],
)
def test_what_outrider_itself_obeys_is_protected_against_edits_and_commands(path):
    """A place that is looked at is one where a model could write itself orders for the next session."""
    assert Guarded([]).why("edit", [names(path)]) is not None
    assert meaning_in_commands(path) == "protected"


@pytest.mark.parametrize("path", NAMED)
def test_what_programs_write_every_day_is_named_and_not_protected_against_commands(path):
    assert meaning_in_commands(path) == "named"


@pytest.mark.parametrize("path", ["package-lock.json", "poetry.lock", "README.md", "src/a.py"])
def test_other_files_are_free_for_commands(path):
    assert meaning_in_commands(path) == "free"


def test_where_a_workspace_lies_says_nothing_of_its_files(tmp_path):
    """Other agents have their work trees in folders of their own."""
    folder = tmp_path / ".claude" / "worktrees" / "feature"
    folder.mkdir(parents=True)
    guarded = Guarded([folder])
    assert guarded.why("edit", [["src/a.py", str(folder / "src" / "a.py")]]) is None
    assert guarded.why("edit", [["x/CLAUDE.md", str(folder / "x" / "CLAUDE.md")]]) is not None
    assert guarded.why("edit", [["settings.json", str(tmp_path / ".claude" / "settings.json")]]) is not None


def test_names_are_judged_in_time_proportional_to_their_length():
    begun = time.process_time()
    for name in (
        "a" * 200_000,
        "/".join(["a"] * 50_000),
        ".emacs.d/" + "init" * 50_000,
        "azure-pipelines" * 20_000,
    ):
        obeyed(name)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("path", ORDINARY)
def test_what_is_only_called_alike_is_not(path):
    assert Guarded([]).why("edit", [names(path)]) is None


@pytest.mark.parametrize("effect", ["read", "edit"])
def test_a_link_with_a_harmless_name_is_judged_by_where_it_leads(effect):
    guard = Guarded([]).why(effect, [["notes.txt", "/home/ada/hello/.env", "/home/ada/hello/notes.txt"]])
    assert guard is not None
    assert guard.kind == "shut"


def test_one_of_several_files_is_enough():
    assert Guarded([]).why("edit", [names("a.py"), names(".git/config")]) is not None


def test_commands_and_questions_are_judged_elsewhere():
    assert Guarded([]).why("execute", [names(".env")]) is None


@pytest.mark.parametrize(
    ("path", "is_shut"),
    [
        ("private/a.txt", True),
        ("private/deep/b.txt", True),
        ("a.secret", True),
        ("deep/a.secret", True),
        ("keep.secret", False),
        ("public/private.txt", False),
    ],
)
def test_outriderignore_shuts_as_gitignore_ignores(tmp_path, path, is_shut):
    (tmp_path / ".outriderignore").write_text("private/\n*.secret\n!keep.secret\n# a comment\n")
    guarded = Guarded([tmp_path])
    guarded.refresh_now()
    assert (guarded.why_hidden(names(path, str(tmp_path))) is not None) is is_shut


def test_it_is_read_again_when_it_changed(tmp_path):
    guarded = Guarded([tmp_path])
    guarded.refresh_now()
    assert guarded.why_hidden(names("a.txt", str(tmp_path))) is None
    (tmp_path / ".outriderignore").write_text("a.txt\n")
    guarded.refresh_now()
    assert guarded.why_hidden(names("a.txt", str(tmp_path))) is not None
    (tmp_path / ".outriderignore").unlink()
    guarded.refresh_now()
    assert guarded.why_hidden(names("a.txt", str(tmp_path))) is None


def test_one_that_cannot_be_read_shuts_everything(tmp_path):
    (tmp_path / ".outriderignore").mkdir()
    guarded = Guarded([tmp_path])
    guarded.refresh_now()
    assert guarded.why_hidden(names("a.txt", str(tmp_path))) is not None


def test_one_that_is_a_link_to_a_device_shuts_everything_and_is_not_read(tmp_path):
    (tmp_path / ".outriderignore").symlink_to("/dev/null")  # /dev/zero would never end
    guarded = Guarded([tmp_path])
    guarded.refresh_now()
    assert guarded.why_hidden([str(tmp_path / "a.txt")]) is not None


def test_a_folder_that_is_reached_by_a_link_is_the_same(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / ".outriderignore").write_text("a.txt\n")
    (tmp_path / "link").symlink_to("real")
    guarded = Guarded([tmp_path / "link"])
    guarded.refresh_now()
    assert guarded.why_hidden(["a.txt", str(tmp_path / "real" / "a.txt")]) is not None
    assert guarded.why_hidden(["a.txt", str(tmp_path / "link" / "a.txt")]) is not None


def test_another_folder_is_none_of_its_business(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / ".outriderignore").write_text("*\n")
    guarded = Guarded([tmp_path / "one", tmp_path / "two"])
    guarded.refresh_now()
    assert guarded.why_hidden([str(tmp_path / "two" / "a.txt")]) is None
    guarded.set_folders([tmp_path / "two"])
    assert guarded.why_hidden([str(tmp_path / "one" / "a.txt")]) is None
