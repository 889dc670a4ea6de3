"""Which files are likely to hold secrets, by their names alone. Their texts are not looked at where nobody asked."""

import re
from collections.abc import Mapping
from fnmatch import translate
from functools import lru_cache
from typing import Final

_NAMES: Final = (
    ".env*", "*.env", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".htpasswd", ".npmrc", ".yarnrc", ".yarnrc.yml",
    ".pypirc", ".dockercfg", ".dockerconfigjson", ".s3cfg", ".boto", ".terraformrc", ".vault-token", ".git-credentials", "credentials",
    "credentials.*", "secrets.*", "*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore", "*.kdbx", "*.ovpn",
    "kubeconfig", "*.kubeconfig", "*.tfvars", "*.tfvars.json", "*.tfstate", "*.tfstate.backup", "service-account*.json",
    "service_account*.json", "*firebase-adminsdk*.json", "client_secret*.json", "application_default_credentials.json",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
)  # fmt: skip
_IN_FOLDERS: Final[Mapping[str, frozenset[str]]] = {
    "config.json": frozenset({".docker"}),
    "config": frozenset({".kube", ".aws"}),
    "settings.xml": frozenset({".m2"}),
    "gradle.properties": frozenset({".gradle"}),
    "nuget.config": frozenset({".nuget"}),
    "auth.json": frozenset({".composer", "composer", "containers"}),
    "hosts.yml": frozenset({"gh", "glab-cli"}),
    "accesstokens.json": frozenset({".azure"}),
    "msal_token_cache.json": frozenset({".azure"}),
    "access_tokens.db": frozenset({"gcloud"}),
}
"""Names that say nothing by themselves, and the folders in which programs keep tokens under them."""
_SECRET: Final = re.compile("|".join(map(translate, _NAMES)))
_TEMPLATES: Final = (
    ".example",
    ".sample",
    ".template",
    ".dist",
    "-example",
    "_example",
    "-sample",
    "_sample",
)


@lru_cache(maxsize=4096)
def is_secret_file(path: str) -> bool:
    """Whether a file of that path is likely to hold secrets; one that says it is an example is not."""
    folder, _, name = path.rstrip("/").casefold().rpartition("/")
    if name in _IN_FOLDERS:
        return folder.rpartition("/")[2] in _IN_FOLDERS[name]
    return _SECRET.match(name) is not None and not name.endswith(_TEMPLATES)
