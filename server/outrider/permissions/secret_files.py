"""Which files are likely to hold secrets, by their names alone. Their texts are not looked at where nobody asked."""

import re
from fnmatch import translate

_NAMES = (
    ".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".pgpass", ".htpasswd", ".npmrc", ".pypirc",
    ".git-credentials", "credentials", "credentials.*", "secrets.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks",
    "*.keystore", "*.kdbx", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
)  # fmt: skip
_SECRET = re.compile("|".join(map(translate, _NAMES)))
_TEMPLATES = (".example", ".sample", ".template", ".dist")


def is_secret_file(path: str) -> bool:
    """Whether a file of that path is likely to hold secrets; one that says it is an example is not."""
    return is_secret_name(path.rstrip("/").rpartition("/")[2])


def is_secret_name(name: str) -> bool:
    """The same of the name alone, without its folders."""
    name = name.casefold()
    return _SECRET.match(name) is not None and not name.endswith(_TEMPLATES)
