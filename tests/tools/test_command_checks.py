"""What a command line is evidence of."""

import json

import pytest

from outrider.tools.run_command.checks import checked_nothing, covers, evidence_of

NPM = {
    "package.json": """{"scripts": {"test": "vitest run", "lint": "eslint . && prettier --check .", "lie": "echo ok",
    "verify": "npm run lie && npm test", "loop": "npm run loop", "check:types": "tsc --noEmit"}}"""
}
LYING = {
    "package.json": """{"scripts": {"test": "echo all 12 tests passed"}}""",
    "Makefile": "test:\n\t@echo passed\n",
}
MAKE = {
    "Makefile": "CC := gcc\nall: app\ntest check: app\n\t@python -m pytest -q\nlint:\n\truff check .\napp: app.c\n\tgcc app.c\n"
}


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("pytest -q", "test"),
        (".venv/bin/python -m pytest -q tests", "test"),
        ("cd server && uv run --frozen pytest", "test"),
        ("CI=1 timeout 60 npx jest", "test"),
        ("cargo test --workspace", "test"),
        ("go vet ./...", "lint"),
        ("python3 tests/test_tariff.py", "test"),
        ("node --test", "test"),
        ("./gradlew check", "test"),
        ("mypy . 2>&1 | tail -20", "types"),
        ("mypy . && pytest", "test"),
        ("ruff check .", "lint"),
        ("cmake --build build", "build"),
        ("ls; pytest", "test"),
        # nothing that was checked
        ("ls", "other"),
        ("git commit -m 'pytest'", "other"),
        ("echo pytest", "other"),
        ("pytest --version", "other"),
        ("pytest --collect-only", "other"),
        ("ruff check --exit-zero .", "other"),
        ("black .", "other"),
        ("node app.js", "other"),
        # the exit code is that of something else
        ("pytest || true", "other"),
        ("pytest; echo done", "other"),
        ("pytest &", "other"),
        ("! pytest", "other"),
        ("pytest | head -3", "other"),
        ("pytest | grep -c FAILED", "other"),
        ("set +o pipefail; pytest | tail", "other"),
        ("if pytest; then ls; fi", "other"),
        ("$(pytest)", "other"),
        ("echo $(pytest)", "other"),
        ("bash -c 'pytest; true'", "other"),
        ("bash -c '! pytest'", "other"),
        ("pytest '", "other"),
        ("", "other"),
    ],
)
def test_a_command_is_known_by_its_words(command, kind):
    assert evidence_of(command, {})[0] == kind


@pytest.mark.parametrize(
    ("command", "declared", "kind"),
    [
        ("npm test", NPM, "test"),
        ("npm run lint", NPM, "lint"),
        ("npm run lie", NPM, "other"),
        ("yarn verify", NPM, "test"),
        ("npm run loop", NPM, "other"),
        ("pnpm check:types", NPM, "types"),
        ("npm test", LYING, "other"),
        ("make test", LYING, "other"),
        ("npm test", {"package.json": "{"}, "test"),
        ("npm test", {"package.json": "[" * 100_000}, "test"),
        ("npm test", {"package.json": """{"scripts": {"test": ["echo"]}}"""}, "test"),
        ("make", MAKE, "build"),
        ("make CC=clang check", MAKE, "test"),
        ("make lint", MAKE, "lint"),
        ("make -n test", MAKE, "other"),
        ("make clean", MAKE, "other"),
        ("just test", {}, "test"),
        # what lies: nothing that fails would be seen
        *(
            ("npm test", {"package.json": json.dumps({"scripts": {"test": script}})}, "other")
            for script in (
                "jest || true",
                "exit 0 || jest",
                "jest; exit 0",
                "jest | cat",
                "jest | tee log",
                "true && echo ok",
                "./run.sh || true",
                "jest &",
                "! jest",
                "jest --passWithNoTests || echo none",
            )
        ),
        ("npm test", {"package.json": '{"scripts": {"test": "./run.sh --all"}}'}, "test"),
        ("npm test", {"package.json": '{"scripts": {"test": "tap | cat | jest"}}'}, "test"),
        *(
            (command, {"Makefile": text}, "other")
            for command, text in (
                ("make test", "test:\n\t-pytest\n"),
                ("make test", "test:\n\t@-pytest\n"),
                ("make test", ".IGNORE:\ntest:\n\tpytest\n"),
                ("make test", "SHELL = /bin/true\ntest:\n\tpytest\n"),
                ("make test", "MAKEFLAGS += -i\ntest:\n\tpytest\n"),
                ("make check", "test:\n\t@echo ok\ncheck: test\n"),
                ("make test", "test: ; @echo ok\n"),
                ("make check", "check: test\ntest: check\n"),
                ("make test", "test:\n\tpytest; true\n"),
                ("make test", "test:\n\tpytest | cat\n"),
            )
        ),
        ("make check", {"Makefile": "check: tests\ntests:\n\tpytest -q\n"}, "test"),
        ("make test", {"Makefile": "SHELL := /usr/bin/env bash\ntest:\n\t-rm -f x\n\tpytest\n"}, "test"),
        ("make test", {"Makefile": "test: build\nbuild: out.o\n\tgcc x.c\n"}, "build"),
        *(
            ("pytest -q", {name: text}, "other")
            for name, text in (
                ("pytest.ini", "[pytest]\naddopts = -q --co\n"),
                ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = ['--collect-only']\n"),
                ("setup.cfg", "[tool:pytest]\naddopts=\n    --collect-only\n"),
            )
        ),
        (
            "pytest -q",
            {
                "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-q --cov=src --color=yes'\n# --co\n"[
                    :-7
                ]
            },
            "test",
        ),
    ],
)
def test_what_a_project_declares_is_looked_through(command, declared, kind):
    assert evidence_of(command, declared)[0] == kind


def test_the_check_is_named_without_what_shows_its_output():
    assert evidence_of("cd server && pytest -q 2>&1 | tail -5", {}) == ("test", "pytest -q")


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("pytest", "pytest tests/typo.py"),
        ("pytest -q", "python -m pytest tests/a.py -x"),
        ("uv run pytest", ".venv/bin/pytest tests/a.py"),
        ("python -m pytest -q tests", "pytest tests/a.py::test_one"),
        ("pytest tests/a.py", "pytest tests/a.py::test_one"),
        ("pytest .", "pytest tests"),
        ("cargo test", "cargo test total"),
        ("go test ./...", "go test ./pkg"),
    ],
)
def test_a_check_of_more_covers_one_of_less(wide, narrow):
    assert covers(wide, narrow)
    assert not covers(narrow, wide)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pytest tests/a.py", "pytest tests/ab.py"),
        ("mypy src", "pytest src"),
        ("cargo test", "cargo build"),
        ("pytest tests/a.py", "pytest tests"),
        ("pytest a b", "pytest"),
        # what leaves something out
        ("pytest -q --deselect=tests/a.py::test_one", "pytest -q"),
        ("pytest --ignore=tests/a.py", "pytest tests/a.py"),
        ("pytest -knot_this", "pytest"),
        ("pytest --lf", "pytest"),
        ("ruff check --ignore=E501", "ruff check"),
        ("mypy --disable-error-code=arg-type src", "mypy src"),
    ],
)
def test_a_check_of_something_else_covers_nothing(one, other):
    assert not covers(one, other)


def test_tests_that_are_not_there_show_nothing():
    assert (
        checked_nothing("python -m pytest tests/typo.py", 4) == "was called in a wrong way and ran no tests"
    )
    assert checked_nothing("pytest", 5) == checked_nothing("python3 -m unittest -q", 5) == "found no tests"
    assert checked_nothing("cargo test", 127) == "could not be started"
    assert not checked_nothing("python3 -m unittest", 1)
    assert not checked_nothing("pytest", 1)
    assert not checked_nothing("make test", 4)
