"""What a command of the user finds around itself: what programs need of their environment, no keys, no pagers, no prompts.

It only decides: it reads no environment itself.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

_START_FILES = frozenset({"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS4"})
"""Would run code or change the shell's rules before the command that was approved."""

_EXPORTED_FUNCTION = re.compile(r"BASH_FUNC_|.*\(\)$")
"""A function that would stand in for a program of the same name."""

_KEY_NAME = re.compile(
    r"(^|_)(API|ACCESS|PRIVATE|SECRET|AUTH)?(KEY|TOKEN|SECRET|PAT)(_?\d+)?$"
    r"|(^|_)(API|ACCESS|PRIVATE|SECRET|AUTH)_?(KEY|TOKEN)(_|$)|(^|_)(KEY|TOKEN)_(LIVE|TEST|PROD|DEV|STAGING|BASE)(_|$)"
    r"|(^|_)SECRETS?_|(^|_)SECRETS$|(?<!^)_(PASS|PWD|PSW|PW|AUTH)(_?\d+)?$|^PASS$|(^|_)JWT(_|$)"
    r"|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL",
    re.IGNORECASE,
)
"""Names that look like keys: what a command prints goes to the model."""

_KEPT = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TZ",
        "LANG",
        "LANGUAGE",
        "TMPDIR",
        "TMP",
        "TEMP",
        "HOSTNAME",
        "HOSTTYPE",
        "OSTYPE",
        "MACHTYPE",
        "CI",
        "VIRTUAL_ENV",
        "PYTHONPATH",
        "PYTHONHOME",
        "PYTHONUTF8",
        "PYTHONIOENCODING",
        "PYTHONHASHSEED",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONWARNINGS",
        "NODE_PATH",
        "NODE_ENV",
        "NODE_OPTIONS",
        "NODE_EXTRA_CA_CERTS",
        "COREPACK_HOME",
        "PNPM_HOME",
        "BUN_INSTALL",
        "DENO_DIR",
        "GOPATH",
        "GOROOT",
        "GOBIN",
        "GOCACHE",
        "GOMODCACHE",
        "GOFLAGS",
        "GOPROXY",
        "GONOSUMDB",
        "GOPRIVATE",
        "CGO_ENABLED",
        "RUST_BACKTRACE",
        "RUST_LOG",
        "RUSTFLAGS",
        "JAVA_HOME",
        "JDK_HOME",
        "JAVA_TOOL_OPTIONS",
        "MAVEN_HOME",
        "M2_HOME",
        "ANDROID_HOME",
        "ANDROID_SDK_ROOT",
        "GEM_HOME",
        "GEM_PATH",
        "BUNDLE_PATH",
        "RUBYLIB",
        "RUBYOPT",
        "PERL5LIB",
        "CC",
        "CXX",
        "CPP",
        "LD",
        "AR",
        "CFLAGS",
        "CXXFLAGS",
        "CPPFLAGS",
        "LDFLAGS",
        "MAKEFLAGS",
        "CMAKE_PREFIX_PATH",
        "PKG_CONFIG_PATH",
        "CPATH",
        "LIBRARY_PATH",
        "LD_LIBRARY_PATH",
        "DYLD_LIBRARY_PATH",
        "DYLD_FALLBACK_LIBRARY_PATH",
        "MANPATH",
        "INFOPATH",
        "CUDA_HOME",
        "CUDA_VISIBLE_DEVICES",
        "DEVELOPER_DIR",
        "SDKROOT",
        "MACOSX_DEPLOYMENT_TARGET",
        "LOCALE_ARCHIVE",
        "IN_NIX_SHELL",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "GIT_SSL_CAINFO",
        "PIP_CERT",
        "NO_PROXY",
        "no_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
        "SOURCE_DATE_EPOCH",
    ]
)
"""What programs find their parts, their language and their way out by."""

_KEPT_BEGINNINGS = (
    "LC_", "XDG_", "PIP_", "UV_", "PYENV_", "CONDA_", "POETRY_", "PIPX_", "PYTEST_", "NVM_", "FNM_", "VOLTA_", "ASDF_", "MISE_",
    "CARGO_", "RUSTUP_", "RBENV_", "SDKMAN_", "NIX_", "HOMEBREW_", "GIT_AUTHOR_", "GIT_COMMITTER_", "OMP_", "TOKENIZERS_",
)  # fmt: skip
"""The same, of programs with many of them."""

_KEY_PART = re.compile(r"(^|_)(TOKENS?|KEYS?|SECRETS?|PASS|AUTH)(_|$)", re.IGNORECASE)
"""Of the settings of programs, this says enough."""

_IN_ADDRESS = re.compile(r"://[^/@\s]*@")
"""A password in the address of a proxy or a package index."""

_QUIET = {
    # Nobody can press a key in a pager.
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "AWS_PAGER": "cat",
    "LESS": "-FRX",  # for what calls `less` by name: leave when it fits, keep the screen
    # Nobody can type: a password, an answer, a commit message.
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "EDITOR": "true",
    "VISUAL": "true",  # comes before EDITOR
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    # Who only looks writes nothing: `git status` would note in the index what it has seen, and lock out the user's own git.
    "GIT_OPTIONAL_LOCKS": "0",
    # The output is text for a model and a log, not for a terminal.
    "TERM": "dumb",
    "NO_COLOR": "1",
    # Seen as it is written, so that silence means silence.
    "PYTHONUNBUFFERED": "1",
}


def command_environment(
    env: Mapping[str, str], named: Collection[str] = (), withheld: Collection[str] = ()
) -> dict[str, str]:
    """The environment of a user's command, from the server's.

    CI is left as it is: setting it changes what test runners do.

    Args:
        env: The server's environment.
        named: What the user wants commands to have besides, whatever it holds.
        withheld: What no command gets, whatever else is said of it.
    """
    kept = {
        name: value for name, value in env.items() if name not in withheld and _is_kept(name, value, named)
    }
    return kept | _QUIET


def holds_key(name: str) -> bool:
    """Whether a variable of that name looks as if it held a key."""
    return _KEY_NAME.search(name) is not None


def _is_kept(name: str, value: str, named: Collection[str]) -> bool:
    # A function begins with its parentheses, under whatever name it was exported.
    if name in _START_FILES or _EXPORTED_FUNCTION.match(name) is not None or value.startswith("() {"):
        return False
    if name in named:
        return True
    is_listed = name in _KEPT or (name.startswith(_KEPT_BEGINNINGS) and _KEY_PART.search(name) is None)
    return is_listed and not holds_key(name) and _IN_ADDRESS.search(value) is None


def shell_argv(command: str) -> list[str]:
    """Run `command` by bash, without anybody's start files."""
    return ["bash", "--noprofile", "--norc", "-c", command]


_SYSTEM = "/usr/bin"


def found_as(name: str, search_path: str, cwd: str) -> Iterator[str]:
    """The files that a name may stand for, the one that bash takes first. Blocks.

    Args:
        name: A program's name without a folder.
        search_path: A `PATH`; an empty part of it is the folder where the command runs (bash(1)).
        cwd: That folder.
    """
    for folder in search_path.split(":"):
        file = os.path.join(cwd, folder, name)  # noqa: PTH118 - at each decision
        if os.access(file, os.X_OK) and os.path.isfile(file):  # noqa: PTH113 - same
            yield file


def is_of(file: str, roots: Sequence[str]) -> bool:
    """Whether a file lies in one of some folders, by its name or by where that leads. Blocks.

    Args:
        file: Its absolute path.
        roots: Real paths.
    """
    folder, name = os.path.split(file)
    places = (f"{os.path.realpath(folder)}/{name}", os.path.realpath(file))
    return any(place.startswith(f"{root.rstrip('/')}/") for place in places for root in roots)


def own_program(name: str, search_path: str, cwd: str, roots: Sequence[str]) -> str:
    """What to start for a program that Outrider itself needs: never a file of the workspace. Blocks.

    Args:
        name: Its name.
        search_path: The `PATH` of the command.
        cwd: The folder where it runs.
        roots: The real paths of the workspace folders.
    """
    files = list(found_as(name, search_path, cwd))
    if not files or not is_of(files[0], roots):
        return name
    return next((file for file in files if not is_of(file, roots)), f"{_SYSTEM}/{name}")
