"""Which files want an explicit yes, wherever they lie: those that hold secrets, and those that something else obeys.

By their names alone, and by what the workspace's own `.outriderignore` says, which only ever hides more.
"""

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final, Literal

from outrider.permissions.policy.own_file import MOST_BYTES
from outrider.permissions.secrets.secret_files import attribute_globs, is_secret_file
from outrider.ports.globs import IgnoreRules, Meaning, OtherName
from outrider_protocol.choices import Effect

IGNORE_FILE: Final = ".outriderignore"


@dataclass(frozen=True, slots=True)
class Obeyed:
    """A kind of file that something outside of the sandbox obeys, now or later."""

    why: str
    """What obeys it, as half a sentence."""
    paths: tuple[str, ...]
    """What is meant, in lower case: the last parts of a path. `x/*` is all below a folder `x`; one `*` in the last part stands
    for any characters."""
    asks: bool = True
    """Whether an edit of it wants an explicit yes."""
    in_commands: Meaning = "protected"
    """What a command may do with it."""


OBEYED: Final = (
    Obeyed("it belongs to git", (
        ".git", ".git/*", ".gitmodules", ".githooks/*", ".husky/*", ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml",
        "lefthook-local.yml", "lefthook-local.yaml", ".overcommit.yml", ".git-hooks/*", ".gitconfig", ".config/git/*",
    )),
    # By a command it may be made: what comes of it is told by the whole folder.
    Obeyed("git takes a folder with HEAD, objects and refs for a repository", ("head", "commondir"), in_commands="free"),
    Obeyed("another version control system runs what it names", (".hg/*", ".jj/*", ".hgrc")),
    Obeyed("editors act on it", (
        ".vscode/*", ".idea/*", ".zed/*", ".helix/*", ".devcontainer/*", ".devcontainer.json", "*.code-workspace", "*.sublime-project", "*.sublime-workspace",
        ".dir-locals.el", ".dir-locals-2.el", ".projectile", ".exrc", ".nvimrc", ".nvim.lua", ".nvim/*", ".vimrc", ".lvimrc", ".lazy.lua", ".gvimrc", "_vimrc", ".vim/vimrc", ".vim/init.vim", ".vim/coc-settings.json", ".nvim/init.vim", ".bsp/*", ".ruby-lsp/*",
        ".emacs", ".emacs.d/*", ".vs/*", ".ycm_extra_conf.py", ".fleet/*", ".theia/*", ".kateproject", ".kateconfig", ".luarc.json", ".luarc.jsonc",
        ".project.el", ".eclipse/*", ".settings/*", ".nova/*", ".vscode-test/*",
        ".local.vimrc", ".config/nvim/*", "tasks.vs.json", "launch.vs.json", ".calva/*", ".ctags", ".ctags.d/*", ".gutctags",
    )),
    Obeyed("language servers and linters run what it names", (
        ".clangd", ".cargo/config", ".cargo/config.toml", ".pylintrc", "pylintrc", ".pylintrc.toml", "pylintrc.toml", ".bazelrc", ".solargraph.yml",
        "sitecustomize.py", "usercustomize.py", "rust-analyzer.toml", ".rust-analyzer.toml", ".lsp/*", ".yardopts",
    )),
    Obeyed("language shells run it at start-up", (".rprofile", ".ghci", ".irbrc", ".pryrc", ".ocamlinit", ".pythonrc", ".pythonrc.py", ".julia/config/*", ".iex.exs", ".erlang", ".octaverc", ".psqlrc", ".sqliterc", ".duckdbrc", "ipython_config.py", "jupyter_*_config.py", "jupyter_*_config.json")),
    Obeyed("build tools start it, or read machine options from it", (
        "gradlew", "gradlew.bat", "mvnw", "mvnw.cmd", ".mvn/*", "gradle/wrapper/*", "tools/bazel", ".pnpmfile.cjs", "pnpmfile.cjs", ".direnv/*", "*.pth",
        ".bundle/config", ".bundle/plugin/*", ".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/releases/*", ".yarn/plugins/*", ".yarn/sdks/*", ".jvmopts", ".sbtopts",
        ".bazeliskrc", "user.bazelrc", "tools/bazel.bat", "tools/bazel.ps1", ".terraformrc", "terraform.rc", ".ripgreprc", ".curlrc", ".wgetrc",
    )),
    Obeyed("debuggers run it", (".gdbinit", ".lldbinit", ".lldbinit-*", ".pdbrc", ".pdbrc.py", ".rdbgrc", ".byebugrc", ".perldb")),
    # Each is where the agent's own documentation puts its settings, rules or hooks for a project: agents.md; code.claude.com/docs (settings,
    # memory, mcp); geminicli.com/docs; developers.openai.com/codex; cursor.com/docs; docs.windsurf.com; docs.cline.bot; docs.roocode.com;
    # kilo.ai/docs; docs.continue.dev; docs.aws.amazon.com/amazonq; kiro.dev/docs; docs.trae.ai; junie.jetbrains.com/docs; opencode.ai/docs;
    # block.github.io/goose; aider.chat/docs; zed.dev/docs; docs.warp.dev; docs.openhands.dev; github.com/charmbracelet/crush;
    # qwenlm.github.io/qwen-code-docs; docs.qoder.com; docs.factory.ai; docs.augmentcode.com; antigravity.google/docs; docs.github.com/copilot.
    Obeyed("coding agents follow it", (
        "agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", "copilot-instructions.md", ".cursorrules", ".windsurfrules", ".clinerules",
        ".clinerules/*", ".roorules", ".goosehints", ".aider.conf.yml", ".mcp.json", "opencode.json", "opencode.jsonc",
        ".claude/*", ".gemini/*", ".codex/*", ".windsurf/*", ".cursor/*", ".roo/*", ".kilocode/*", ".continue/*", ".amazonq/*", ".kiro/*", ".trae/*", ".junie/*",
        ".opencode/*", ".goose/*", ".rules", "warp.md", ".openhands/*", ".crush.json", "crush.json", ".crush/*", ".warp/*",  ".qwen/*", ".qoder/*", ".factory/*", ".augment/*", ".agents/*", ".agent/*", ".github/instructions/*", ".github/prompts/*", ".github/agents/*", ".github/hooks/*",
        ".github/skills/*", ".github/mcp.json", ".github/copilot/*", ".github/chatmodes/*", ".copilot/*", ".roomodes", "qwen.md", ".codebuddy/*", "codebuddy.md",
    )),
    Obeyed("shells run it", (
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
        ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".envrc", "config.fish",
        ".config/fish/*", "mise.toml", ".mise.toml", "mise.local.toml", ".mise/*", ".config/mise/*", ".mise.local.toml", "mise.*.toml", ".mise.*.toml", ".config/mise.toml", "mise/config.toml", "mise/config.local.toml", ".rtx.toml",
        ".tool-versions", ".xonshrc", ".screenrc", ".config/direnv/*", ".autoenv", ".in", ".out", ".ssh/*", ".xinitrc", ".xprofile", ".tmux.conf",
    )),
    Obeyed("it decides what runs on other machines", (
        ".github/workflows/*", ".github/actions/*", ".github/dependabot.yml", ".github/dependabot.yaml", ".gitlab-ci.yml", ".gitlab/ci/*", ".circleci/*",
        ".buildkite/*", ".travis.yml", ".drone.yml", ".woodpecker.yml", ".woodpecker/*", "azure-pipelines*.yml", "azure-pipelines*.yaml",
        "bitbucket-pipelines.yml", "jenkinsfile", ".gitea/workflows/*", ".forgejo/workflows/*", ".cirrus.yml", ".semaphore/*", "appveyor.yml",
        ".appveyor.yml", "cloudbuild.yml", "cloudbuild.yaml", "buildspec.yml", "buildspec.yaml",
    )),
    Obeyed("it decides what Outrider may see", (IGNORE_FILE, ".outrider", ".outrider/*")),
    Obeyed("a package manager writes it", (
        "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock",
        "poetry.lock", "uv.lock", "pdm.lock", "pipfile.lock", "cargo.lock", "go.sum", "go.work.sum", ".terraform.lock.hcl", "gemfile.lock", "composer.lock",
        "flake.lock", "mix.lock", "package.resolved", "packages.lock.json", "gradle.lockfile", "podfile.lock",
        "requirements.lock", "pixi.lock", "conda-lock.yml", "pubspec.lock", "shard.lock", "rebar.lock", "renv.lock", "stack.yaml.lock",
    ), in_commands="free"),
    Obeyed("it is installed, and run by name", (".venv/*", "venv/bin/*", "venv/scripts/*", "env/bin/*", "env/scripts/*", "pyvenv.cfg", "node_modules/*"), in_commands="named"),
    Obeyed("package managers and test runners run what it names", (
        "package.json", "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "conftest.py", "cargo.toml", "build.rs", "go.mod", "makefile",
        "gnumakefile", "justfile", ".justfile", "taskfile.yml", "taskfile.yaml", "cmakelists.txt", "gemfile", "rakefile", "composer.json", "pom.xml", "build.gradle", "build.gradle.kts",
        "settings.gradle", "settings.gradle.kts", "deno.json", "deno.jsonc", "mix.exs",
        ".pnp.cjs", ".pnp.loader.mjs", "pytest.ini", ".flake8", ".coveragerc", ".rspec", "steepfile", "devenv.nix", "jest.config.*", "vitest.config.*", "vite.config.*",
        "webpack.config.*", "babel.config.*", ".babelrc*", "postcss.config.*", "tailwind.config.*", ".stylelintrc*", "stylelint.config.*", ".mocharc*",
        "hie.yaml", "rust-toolchain", "rust-toolchain.toml", "eslint.config.*", ".eslintrc*", "prettier.config.*", ".prettierrc*", ".luacheckrc", "mypy.ini", ".mypy.ini",
        ".rubocop.yml", "phpstan.neon", "phpstan.neon.dist", "directory.build.props", "directory.build.targets", "*.csproj", "*.fsproj", "*.vbproj",
        "build.sbt", "flake.nix", "shell.nix", "default.nix", "cmakepresets.json", "cmakeuserpresets.json",
    ), asks=False, in_commands="named"),
)  # fmt: skip
"""One table for edits and commands; the first row that fits decides."""


class _Table:
    """The rows, found by the names in a path and not one after the other: it is asked for each name of a workspace."""

    def __init__(self, rows: Sequence[Obeyed]) -> None:
        self._files: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        self._folders: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        self._parts: list[tuple[str, str, int]] = []
        """Beginnings and ends of names."""
        for number, row in enumerate(rows):
            for path in row.paths:
                *above, name = path.split("/")
                if name == "*":
                    self._folders.setdefault(above[-1], []).append((tuple(above), number))
                elif "*" in name:
                    begin, _, end = name.partition("*")
                    self._parts.append((begin, end, number))
                else:
                    self._files.setdefault(name, []).append(((*above, name), number))
        self._rows = rows
        self.folders = frozenset(part for row in rows for path in row.paths for part in path.split("/")[:-1])
        """The names of all folders in these paths."""

    def row(self, path: str) -> Obeyed | None:
        parts = path.casefold().split("/")
        name = parts[-1]
        found = [row for way, row in self._files.get(name, ()) if tuple(parts[-len(way) :]) == way]
        for place, part in enumerate(parts[:-1]):
            ways = self._folders.get(part, ())
            found += [row for way, row in ways if tuple(parts[place + 1 - len(way) : place + 1]) == way]
        for begin, end, row in self._parts:
            if name.startswith(begin) and name.endswith(end) and len(name) >= len(begin) + len(end):
                found.append(row)
        return self._rows[min(found)] if found else None


_TABLE: Final = _Table(OBEYED)


@dataclass(frozen=True, slots=True)
class Guard:
    """Why something wants an explicit yes."""

    kind: Literal["shut", "protected"]
    """Shut: nothing of it may be seen or changed, in any mode. Protected: it is not changed, but for in the mode `full`."""
    reason: str


def obeyed(path: str) -> Obeyed | None:
    """What obeys a file of that path, relative or absolute; None if nothing that is known."""
    return _TABLE.row(path)


def meaning_in_commands(path: str) -> Meaning:
    """What a command may do with a file of that path, relative to its workspace folder."""
    row = obeyed(path)
    return "free" if row is None else row.in_commands


def may_lead_to_obeyed(name: str) -> bool:
    """Whether a folder of that name can be part of the path of a file that is obeyed, so that a link in its place matters."""
    return name.casefold() in _TABLE.folders


def protected(name: str) -> str | None:
    """Why a file of that name is not edited like others, None if it is."""
    row = obeyed(name)
    return row.why if row is not None and row.asks else None


class Guarded:
    """What is guarded in some workspace folders."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Nothing is known yet of what the folders shut themselves: `refresh` reads it."""
        self._specs: dict[Path, tuple[tuple[int, int, int] | None, IgnoreRules | None]] = {}
        self._shuts = False
        """Whether any of the folders shuts something."""
        self._folders: Mapping[Path, Sequence[str]] = {}
        self._other_names: Mapping[str, Sequence[OtherName]] = {}
        self.set_folders(folders)

    def set_folders(self, folders: Sequence[Path]) -> None:
        """Take over other workspace folders."""
        self._folders = {folder: (str(folder), os.path.realpath(folder)) for folder in folders}

    def set_other_names(self, other_names: Mapping[str, Sequence[OtherName]]) -> None:
        """Take over by which other paths programs reach files of the folders.

        Args:
            other_names: By the absolute path of a file or folder.
        """
        self._other_names = other_names

    async def refresh(self) -> None:
        """Read what has changed."""
        await asyncio.to_thread(self.refresh_now)

    def refresh_now(self) -> bool:
        """The same for a thread; gives whether anything has changed. Blocks."""
        changed = False
        for folder in self._folders:
            path = folder / IGNORE_FILE
            stamp = _stamp(path)
            if folder not in self._specs or self._specs[folder][0] != stamp:
                spec = _read(path) if stamp is not None else None
                self._shuts = self._shuts or spec is not None  # from before it counts
                self._specs[folder] = (stamp, spec)
                changed = True
        self._shuts = any(spec is not None for _, spec in self._specs.values())
        return changed

    def stamps(self) -> object:
        """What stands for the rules by which files are shut: another value where they changed."""
        return tuple((folder, stamp) for folder, (stamp, _) in self._specs.items())

    def why(self, effect: Effect, paths: Sequence[Sequence[str]]) -> Guard | None:
        """Why an access of these files wants an explicit yes.

        Args:
            effect: What is done with them.
            paths: The files, each by all its names; the first is the one that is told.
        """
        if effect not in {"read", "edit"}:
            return None
        for names in paths:
            if (reason := self.why_hidden(names)) is not None:
                return Guard("shut", f"{names[0]} is a secret file: {reason}")
        for names in paths if effect == "edit" else ():
            if (reason := next(filter(None, map(protected, map(self._below, names))), None)) is not None:
                return Guard("protected", f"{names[0]} is protected: {reason}")
            if (reason := next(filter(None, map(self._why_by_another_name, names)), None)) is not None:
                return Guard("protected", f"{names[0]} is protected: {reason}")
        return None

    def _why_by_another_name(self, name: str) -> str | None:
        """Why the file of an absolute path is protected by what else it is called, None if it is not."""
        place, below = name, ""
        while self._other_names and place.startswith("/") and place != "/":
            for other in self._other_names.get(place, ()):
                # The place itself may be a link in the path to a folder.
                called = (f"{other.name}{below}",) if below else (other.name, f"{other.name}/*")
                if (other.below or not below) and any(map(protected, called)):
                    return other.why
            place, _, last = place.rpartition("/")
            below = f"/{last}{below}"
        return None

    def _below(self, name: str) -> str:
        """A path relative to the innermost workspace folder that it lies in: where that folder lies says nothing of its files."""
        roots = [root for roots in self._folders.values() for root in roots if name.startswith(f"{root}/")]
        return name[len(max(roots, key=len)) + 1 :] if roots else name

    def why_hidden(self, names: Sequence[str]) -> str | None:
        """Why a file is shut for every tool, None if it is not.

        Args:
            names: All its names; those that are absolute are looked for in the folders.
        """
        if any(map(is_secret_file, names)):
            return "files with that name hold secrets"
        return next((why for why in map(self.why_ignored, names) if why is not None), None)

    def why_ignored(self, name: str) -> str | None:
        """Why the workspace shuts a file of that absolute path, None if it does not."""
        if not self._shuts:
            return None
        path = PurePath(name)
        for folder, roots in self._folders.items():
            _, spec = self._specs.get(folder, (None, None))
            root = next((root for root in roots if spec is not None and path.is_relative_to(root)), None)
            if spec is not None and root is not None and spec.matches(path.relative_to(root).as_posix()):
                return f"{IGNORE_FILE} lists it"
        return None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(path: Path) -> IgnoreRules:
    try:
        # A device or a pipe, to which a link of the workspace may lead, would not come to an end.
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            return IgnoreRules(path.read_text("utf-8", "replace").splitlines())
    except (OSError, ValueError):
        pass
    # Nobody knows what it shuts, so that all is.
    return IgnoreRules(["*"])


_MOST_BYTES: Final = 1_000_000


def attributes(folders: Iterable[Path]) -> str:
    """The lines of such a file. Blocks.

    Args:
        folders: The workspace folders, whose `.outriderignore` counts too.
    """
    lines = [line for folder in folders for line in _of_folder(folder / IGNORE_FILE)]
    lines += [_line(glob, "-diff" if hides else "!diff") for glob, hides in attribute_globs()]
    return "".join(f"{line}\n" for line in lines)


def environment(path: str) -> dict[str, str]:
    """The environment in which git goes by such a file: what `git -c` hands to its children, which every version reads.

    Args:
        path: The file.
    """
    quoted = f"core.attributesFile={path}".replace("'", "'\\''")
    return {"GIT_CONFIG_PARAMETERS": f"'{quoted}'"}


def _of_folder(path: Path) -> Iterator[str]:
    try:
        if not path.exists():
            return
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            yield _line("*", "-diff")
            return
        written = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        yield _line("*", "-diff")
        return
    for line in written:
        text = line.rstrip()
        if not text or text.startswith("#"):
            continue
        shows = text.startswith("!")
        yield from (_line(glob, "!diff" if shows else "-diff") for glob in _globs(text.removeprefix("!")))


def _globs(rule: str) -> Sequence[str]:
    """A rule of an ignore file as globs of attributes, which do not go into folders by themselves."""
    body = rule.rstrip("/")
    anchored = "/" in body
    body = body.removeprefix("/")
    inside = f"{body}/**" if anchored else f"**/{body}/**"
    if rule.endswith("/"):
        return (inside,)
    return (f"/{body}" if anchored and not body.startswith("**/") else body, inside)


def _line(glob: str, attribute: str) -> str:
    escaped = glob.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}" {attribute}'
