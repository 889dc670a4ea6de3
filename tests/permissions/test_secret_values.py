"""The values in files that are called like those of secrets."""

import time

import pytest

from outrider.permissions.secrets.masking import Masking
from outrider.permissions.secrets.secret_files import settings_in

ROWS = [
    ("DB_PASSWORD=hunter2\n", ["hunter2"], "a .env"),
    ("export TOKEN='a b c d' # mine\n", ["a b c d"], "quoted, with a remark behind it"),
    ("PASS=p#ss,w;rd! # mine\n", ["p#ss,w;rd!"], "signs that end a value elsewhere"),
    ("# OLD=hunter1\r\nNEW=hunter2\r\n", ["hunter1", "hunter2"], "a line that is a remark, and other line ends"),
    ("a.b.password = hunter2\n", ["hunter2"], "properties"),
    ("[default]\nkey: hunter2\n", ["hunter2"], "an ini"),
    ("db:\n  - password: hunter2\n    user: anna\n", ["hunter2", "anna"], "yaml"),
    ('{"a": {"password": "hunter2", "port": 80, "on": true}, "b": "anna"}', ["hunter2", "anna"], "json"),
    ("machine x.example login anna password hunter2\n", ["anna", "hunter2"], "a .netrc"),
    ("//registry.example/:_authToken=hunter2\n", ["hunter2"], "an .npmrc"),
    ("db.example:5432:shop:anna:hunter2\n", ["hunter2"], "a .pgpass"),
    ("anna:$apr1$x$y\n", ["$apr1$x$y"], "an .htpasswd"),
    ("<server><password>hunter2</password></server>", ["hunter2"], "xml"),
    ('<add key="ClearTextPassword" value="hunter2" />', ["ClearTextPassword", "hunter2"], "attributes"),
    ("a:\n  phrase: |\n    correct horse battery\n\n    staple it\n  mode: on\n", ["correct horse battery", "staple it"], "a text of several lines in yaml"),
    ("- key: >-\n    QUJDREVGRw==\n    short\nb: hunter2", ["QUJDREVGRw==", "hunter2"], "a value in lines of its own"),
    ("about: |\n  production\n  /srv/parking\nmode:\n  production\n", [], "words of a longer text"),
    ("data: |\n", [], "a text of no lines"),
    ("s.alone-in-its-line\n", ["s.alone-in-its-line"], "a token that is all there is"),
    ("A=true\nB=5432\nC=localhost:80\nD=127.0.0.1\nE=abc\nF=\nG=${OTHER}\nH=null\n", [], "what says nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "values", "why"), ROWS, ids=[row[2] for row in ROWS])
def test_every_value_is_found(text, values, why):
    found = [setting.value for setting in settings_in(text)]
    assert [value for value in values if value not in found] == [], why
    assert len(found) == len(values), found


def test_what_may_stand_anywhere_is_one_only_behind_its_name():
    masking = Masking(b"key", {})
    masking.learn_settings("MODE=production\nPASSWORD=hunter2\nDSN=pq-77-Zebra!\n")
    said = masking.masked(
        "+PASSWORD=hunter2\nMODE=production, in production with hunter2 and pq-77-Zebra!\n"
    ).text
    assert said == "+PASSWORD=[secret 1]\nMODE=[secret 2], in production with hunter2 and [secret 3]\n"
    assert [masking.original(f"[secret {n}]") for n in (1, 2, 3)] == ["hunter2", "production", "pq-77-Zebra!"]
    assert masking.masked(said).text == said


@pytest.mark.parametrize("text", ["a" * 1_000_000, "a=" + "x " * 500_000, "<a" * 500_000, "a:" * 500_000, "=" * 10**6, '"' * 10**6, "a" + " " * 10**6 + "=b", "a='" * 300_000, "a: |\n" * 200_000, "a: |\n  b\n" * 100_000, " " * 10**6, "a: |\n" + "  \n" * 300_000, " a: |" * 200_000])  # fmt: skip
def test_no_text_takes_long(text):
    began = time.process_time()
    settings_in(text)
    assert time.process_time() - began < 3
