"""Which files are likely to hold secrets, by their names alone. Their texts are not looked at where nobody asked."""

from fnmatch import fnmatchcase
from pathlib import PurePath

_NAMES = (
    ".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".pgpass", ".htpasswd", ".npmrc", ".pypirc",
    ".git-credentials", "credentials", "credentials.*", "secrets.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks",
    "*.keystore", "*.kdbx", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
)  # fmt: skip
_TEMPLATES = (".example", ".sample", ".template", ".dist")


def is_secret_file(path: str) -> bool:
    """Whether a file of that path is likely to hold secrets; one that says it is an example is not."""
    name = PurePath(path).name.casefold()
    return not name.endswith(_TEMPLATES) and any(fnmatchcase(name, pattern) for pattern in _NAMES)
