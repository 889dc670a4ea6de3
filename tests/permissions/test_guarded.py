"""Which files are shut or protected, by their names and by `.outriderignore`."""

import pytest

from outrider.permissions.guarded import Guarded

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
ORDINARY = [
    "README.md", "git/config", ".gitignore", "vscode/settings.json", "src/lock.py", "package.json", ".github/README.md",
    "docs/.github.md", "x.bashrc.md", "cargo.lock.md", "settings.json",
]  # fmt: skip


SECRET = [
    ".env", ".env.local", ".env-prod", ".env_test", "prod.env", "sub/.ENV", ".envrc", "id_ed25519", "server.key", "AuthKey_X.p8", ".netrc", ".npmrc",
    ".yarnrc.yml", ".pypirc", "credentials.json", ".aws/credentials", ".aws/config", ".kube/config", "kubeconfig", ".docker/config.json",
    ".git-credentials", "prod.tfvars", "terraform.tfstate", "service-account-prod.json", "app-firebase-adminsdk-x.json", ".vault-token",
    "application_default_credentials.json", ".m2/settings.xml", ".config/gh/hosts.yml", ".cargo/credentials.toml", ".composer/auth.json",
]  # fmt: skip
NOT_SECRET = [
    ".env.example", ".env.sample", ".env-example", "env.py", "config.json", "src/config", "settings.xml", "app/auth.json", "hosts.yml", "key.py",
    "environment.ts", "docs/credentials-howto.md", "secret.py", "public.asc", "nuget.config", "gradle.properties",
]  # fmt: skip


@pytest.mark.parametrize("path", SECRET)
def test_what_holds_keys_by_its_name_is_shut(path):
    guard = Guarded([]).why("read", [names(path)])
    assert guard is not None
    assert guard.kind == "shut"


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
    assert (guarded.why_shut(names(path, str(tmp_path))) is not None) is is_shut


def test_it_is_read_again_when_it_changed(tmp_path):
    guarded = Guarded([tmp_path])
    guarded.refresh_now()
    assert guarded.why_shut(names("a.txt", str(tmp_path))) is None
    (tmp_path / ".outriderignore").write_text("a.txt\n")
    guarded.refresh_now()
    assert guarded.why_shut(names("a.txt", str(tmp_path))) is not None
    (tmp_path / ".outriderignore").unlink()
    guarded.refresh_now()
    assert guarded.why_shut(names("a.txt", str(tmp_path))) is None


def test_one_that_cannot_be_read_shuts_everything(tmp_path):
    (tmp_path / ".outriderignore").mkdir()
    guarded = Guarded([tmp_path])
    guarded.refresh_now()
    assert guarded.why_shut(names("a.txt", str(tmp_path))) is not None


def test_one_that_is_a_link_to_a_device_shuts_everything_and_is_not_read(tmp_path):
    (tmp_path / ".outriderignore").symlink_to("/dev/null")  # /dev/zero would never end
    guarded = Guarded([tmp_path])
    guarded.refresh_now()
    assert guarded.why_shut([str(tmp_path / "a.txt")]) is not None


def test_a_folder_that_is_reached_by_a_link_is_the_same(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / ".outriderignore").write_text("a.txt\n")
    (tmp_path / "link").symlink_to("real")
    guarded = Guarded([tmp_path / "link"])
    guarded.refresh_now()
    assert guarded.why_shut(["a.txt", str(tmp_path / "real" / "a.txt")]) is not None
    assert guarded.why_shut(["a.txt", str(tmp_path / "link" / "a.txt")]) is not None


def test_another_folder_is_none_of_its_business(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / ".outriderignore").write_text("*\n")
    guarded = Guarded([tmp_path / "one", tmp_path / "two"])
    guarded.refresh_now()
    assert guarded.why_shut([str(tmp_path / "two" / "a.txt")]) is None
    guarded.set_folders([tmp_path / "two"])
    assert guarded.why_shut([str(tmp_path / "one" / "a.txt")]) is None
