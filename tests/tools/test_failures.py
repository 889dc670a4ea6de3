"""The failures that checks print with a file and a line, in the words of many tools."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.tools.run_command.failures import MOST, Place, failures_in, spellings

PYTEST_LONG = """\
=================================== FAILURES ===================================
_________________________________ test_price __________________________________

    def test_price():
>       assert price(2) == 4
E       assert 6 == 4
E        +  where 6 = price(2)

tests/test_tariff.py:5: AssertionError
=========================== short test summary info ============================
FAILED tests/test_tariff.py::test_price - assert 6 == 4
1 failed in 0.02s
"""
PYTEST_TEXTS = """\
    def test_label():
>       assert label(2) == "2h: 5"
E       AssertionError: assert '2 h' == '2h: 5'
E\x20\x20\x20
E         - 2h: 5
E         + 2 h

tests/test_tariff.py:13: AssertionError
"""
PYTEST_SHORT = """\
_________________________________ test_price __________________________________
tests/test_tariff.py:5: in test_price
    assert price(2) == 4
src/tariff.py:3: in price
    raise ValueError("no")
E   ValueError: no
"""
PYTEST_IMPORT = """\
tests/test_tariff.py:1: in <module>
    import nosuch
E   ModuleNotFoundError: No module named 'nosuch'
"""
UNITTEST = """\
FAIL: test_price (tests.test_tariff.TestPrice.test_price)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/w/tests/test_tariff.py", line 7, in test_price
    self.assertEqual(price(2), 4)
AssertionError: 6 != 4

----------------------------------------------------------------------
"""
MYPY = """\
src/a.py:3: error: Incompatible return value type (got "int", expected "str")  [return-value]
src/a.py:4:7: note: See the documentation
Found 1 error in 1 file (checked 1 source file)
"""
PYRIGHT = '  /w/src/a.py:3:12 - error: Type "int" is not assignable to "str" (reportReturnType)\n'
RUFF = """\
F401 [*] `os` imported but unused
 --> src/a.py:1:8
  |
1 | import os
  |        ^^
"""
RUFF_CONCISE = "src/a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n"
TSC = "src/a.ts(3,5): error TS2322: Type 'number' is not assignable to type 'string'.\n"
TSC_PRETTY = "\x1b[96msrc/a.ts\x1b[0m:\x1b[93m3\x1b[0m:\x1b[93m5\x1b[0m - \x1b[91merror\x1b[0m TS2322: Type 'number' is wrong.\n"
ESLINT = """\
/w/src/a.js
  1:7   error    'x' is assigned a value but never used  no-unused-vars
  4:1   warning  Unexpected console statement            no-console

✖ 2 problems (1 error, 1 warning)
"""
RUSTC = """\
error[E0308]: mismatched types
 --> src/main.rs:2:18
  |
2 |     let x: i32 = "a";
warning: unused variable: `y`
 --> src/main.rs:3:9
"""
CARGO_TEST = """\
---- tests::adds stdout ----

thread 'tests::adds' panicked at src/lib.rs:12:9:
assertion `left == right` failed
  left: 3
 right: 4
"""
OLD_PANIC = "thread 'main' panicked at 'index out of bounds', src/main.rs:4:5\n"
GO_BUILD = "# example.com/m\n./main.go:5:2: undefined: foo\n"
GO_TEST = """\
--- FAIL: TestAdd (0.00s)
    add_test.go:9: got 3, want 4
FAIL
FAIL\texample.com/m/calc\t0.002s
"""
GCC = """\
src/main.c: In function 'main':
src/main.c:4:5: error: 'x' undeclared (first use in this function)
src/main.c:4:5: note: each undeclared identifier is reported only once
src/main.c:9:3: warning: unused variable 'y' [-Wunused-variable]
"""
GTEST = """\
/w/tests/add_test.cpp:7: Failure
Expected equality of these values:
"""
JEST = """\
  ● adds › two numbers

    expect(received).toBe(expected) // Object.is equality

    Expected: 4
    Received: 3

      3 | test('two numbers', () => {
    > 4 |   expect(add(1, 2)).toBe(4);

      at Object.toBe (src/add.test.ts:4:21)
      at run (node_modules/jest-circus/build/run.js:1:2)
"""
VITEST = """\
 FAIL  src/add.test.ts > adds
AssertionError: expected 3 to be 4 // Object.is equality
 ❯ src/add.test.ts:4:21
"""
NODE_TEST = """\
not ok 1 - adds
  ---
  location: '/w/add.test.js:3:1'
  error: |-
    Expected values to be strictly equal:
"""
NODE_STACK = """\
TypeError: Cannot read properties of undefined (reading 'x')
    at total (/w/src/app.js:10:15)
    at Object.<anonymous> (/w/src/main.js:3:1)
    at node:internal/main/run_main_module:36:49
"""
JAVAC = "src/A.java:3: error: ';' expected\n        int x = 1\n"
MAVEN = "[ERROR] /w/src/main/java/com/acme/A.java:[12,5] cannot find symbol\n"
JUNIT = """\
org.opentest4j.AssertionFailedError: expected: <4> but was: <3>
\tat org.junit.jupiter.api.AssertionUtils.fail(AssertionUtils.java:55)
\tat com.acme.CalcTest.adds(CalcTest.java:14)
"""
KOTLIN = "e: file:///w/src/main/kotlin/A.kt:3:5 Unresolved reference: foo\n"
DOTNET = "/w/A.cs(12,5): error CS1002: ; expected [/w/a.csproj]\n"
RSPEC = """\
  1) Calc adds
     Failure/Error: expect(add(1, 2)).to eq(4)

       expected: 4
            got: 3
     # ./spec/calc_spec.rb:5:in `block (2 levels) in <top (required)>'
"""
MINITEST = """\
  1) Failure:
TestCalc#test_adds [test/calc_test.rb:6]:
Expected: 4
  Actual: 3
"""
RUBOCOP = "app/a.rb:3:5: C: Layout/IndentationWidth: Use 2 spaces for indentation.\n"
PHPUNIT = """\
1) CalcTest::testAdds
Failed asserting that 3 matches expected 4.

/w/tests/CalcTest.php:12
"""
PHPSTAN = """\
 ------ ------------------------------------------
  Line   src/Calc.php
 ------ ------------------------------------------
  12     Method Calc::add() should return int but returns string.
 ------ ------------------------------------------
"""
SHELLCHECK = """\
In run.sh line 3:
echo $x
     ^-- SC2086 (info): Double quote to prevent globbing and word splitting.
"""
MIX = "** (CompileError) lib/a.ex:3: undefined function foo/0\n"
GOLANGCI = "pkg/a.go:10:2: ineffectual assignment to err (ineffassign)\n"
PYLINT = "src/a.py:3:0: C0116: Missing function or method docstring (missing-function-docstring)\n"

CASES = {
    "pytest": (PYTEST_LONG, [("tests/test_tariff.py", 5, None, "assert 6 == 4")]),
    "pytest that compares texts": (
        PYTEST_TEXTS,
        [("tests/test_tariff.py", 13, None, "AssertionError: assert '2 h' == '2h: 5'")],
    ),
    "pytest --tb=short": (PYTEST_SHORT, [("src/tariff.py", 3, None, "ValueError: no")]),
    "pytest that cannot import": (
        PYTEST_IMPORT,
        [("tests/test_tariff.py", 1, None, "ModuleNotFoundError: No module named 'nosuch'")],
    ),
    "unittest": (UNITTEST, [("/w/tests/test_tariff.py", 7, None, "AssertionError: 6 != 4")]),
    "mypy": (
        MYPY,
        [
            (
                "src/a.py",
                3,
                None,
                'error: Incompatible return value type (got "int", expected "str") [return-value]',
            )
        ],
    ),
    "pyright": (
        PYRIGHT,
        [("/w/src/a.py", 3, 12, 'error: Type "int" is not assignable to "str" (reportReturnType)')],
    ),
    "ruff": (RUFF, [("src/a.py", 1, 8, "F401 [*] `os` imported but unused")]),
    "ruff, concise": (RUFF_CONCISE, [("src/a.py", 1, 8, "F401 [*] `os` imported but unused")]),
    "pylint": (
        PYLINT,
        [
            (
                "src/a.py",
                3,
                0,
                "C0116: Missing function or method docstring (missing-function-docstring)",
            )
        ],
    ),
    "tsc": (
        TSC,
        [("src/a.ts", 3, 5, "error TS2322: Type 'number' is not assignable to type 'string'.")],
    ),
    "tsc --pretty": (TSC_PRETTY, [("src/a.ts", 3, 5, "error TS2322: Type 'number' is wrong.")]),
    "eslint": (
        ESLINT,
        [
            ("/w/src/a.js", 1, 7, "'x' is assigned a value but never used no-unused-vars"),
            ("/w/src/a.js", 4, 1, "Unexpected console statement no-console"),
        ],
    ),
    "rustc": (
        RUSTC,
        [("src/main.rs", 2, 18, "mismatched types"), ("src/main.rs", 3, 9, "unused variable: `y`")],
    ),
    "cargo test": (CARGO_TEST, [("src/lib.rs", 12, 9, "assertion `left == right` failed")]),
    "a panic of old Rust": (OLD_PANIC, [("src/main.rs", 4, 5, "index out of bounds")]),
    "go build": (GO_BUILD, [("./main.go", 5, 2, "undefined: foo")]),
    "go test": (GO_TEST, [("add_test.go", 9, None, "got 3, want 4")]),
    "golangci-lint": (GOLANGCI, [("pkg/a.go", 10, 2, "ineffectual assignment to err (ineffassign)")]),
    "gcc": (
        GCC,
        [
            ("src/main.c", 4, 5, "error: 'x' undeclared (first use in this function)"),
            ("src/main.c", 9, 3, "warning: unused variable 'y' [-Wunused-variable]"),
        ],
    ),
    "GoogleTest": (GTEST, [("/w/tests/add_test.cpp", 7, None, "Expected equality of these values:")]),
    "jest": (
        JEST,
        [("src/add.test.ts", 4, 21, "expect(received).toBe(expected) // Object.is equality")],
    ),
    "vitest": (
        VITEST,
        [("src/add.test.ts", 4, 21, "AssertionError: expected 3 to be 4 // Object.is equality")],
    ),
    "node --test": (NODE_TEST, [("/w/add.test.js", 3, 1, "adds")]),
    "a stack of node": (
        NODE_STACK,
        [("/w/src/app.js", 10, 15, "TypeError: Cannot read properties of undefined (reading 'x')")],
    ),
    "javac": (JAVAC, [("src/A.java", 3, None, "error: ';' expected")]),
    "maven": (MAVEN, [("/w/src/main/java/com/acme/A.java", 12, 5, "cannot find symbol")]),
    "JUnit": (
        JUNIT,
        [
            (
                "AssertionUtils.java",
                55,
                None,
                "org.opentest4j.AssertionFailedError: expected: <4> but was: <3>",
            )
        ],
    ),
    "kotlinc": (KOTLIN, [("/w/src/main/kotlin/A.kt", 3, 5, "Unresolved reference: foo")]),
    "dotnet": (DOTNET, [("/w/A.cs", 12, 5, "error CS1002: ; expected [/w/a.csproj]")]),
    "rspec": (RSPEC, [("./spec/calc_spec.rb", 5, None, "expect(add(1, 2)).to eq(4)")]),
    "minitest": (MINITEST, [("test/calc_test.rb", 6, None, "Expected: 4")]),
    "rubocop": (
        RUBOCOP,
        [("app/a.rb", 3, 5, "C: Layout/IndentationWidth: Use 2 spaces for indentation.")],
    ),
    "phpunit": (
        PHPUNIT,
        [("/w/tests/CalcTest.php", 12, None, "Failed asserting that 3 matches expected 4.")],
    ),
    "phpstan": (
        PHPSTAN,
        [("src/Calc.php", 12, None, "Method Calc::add() should return int but returns string.")],
    ),
    "shellcheck": (
        SHELLCHECK,
        [("run.sh", 3, None, "SC2086 (info): Double quote to prevent globbing and word splitting.")],
    ),
    "mix": (MIX, [("lib/a.ex", 3, None, "undefined function foo/0")]),
}


@pytest.mark.parametrize("tool", CASES)
def test_failures_are_found_where_tools_name_them(tool):
    output, expected = CASES[tool]
    found = failures_in(output, "lint")
    assert [
        (one.places[0].path, one.places[0].line, one.places[0].column, one.message) for one in found
    ] == expected


def test_warnings_of_tests_are_no_failures():
    warned = "src/a.py:3: DeprecationWarning: it goes away\nsrc/b.c:1:1: warning: unused\n"
    assert failures_in(warned, "test") == []
    assert [one.weight for one in failures_in(warned, "build")] == ["warning", "warning"]


def test_the_frames_of_a_stack_are_places_that_it_may_be_at():
    (found,) = failures_in(JUNIT, "test")
    assert [place.path for place in found.places] == ["AssertionUtils.java", "CalcTest.java"]
    assert "src/test/java/com/acme/CalcTest.java" in list(spellings(found.places[1]))


def test_a_file_of_go_is_looked_for_in_its_package():
    (found,) = failures_in(GO_TEST, "test")
    assert [name for place in found.places for name in spellings(place)] == [
        "add_test.go",
        "add_test.go",
        "m/calc/add_test.go",
        "calc/add_test.go",
    ]


@pytest.mark.parametrize(
    "output",
    [
        "1 passed in 0.01s\n",
        "http://127.0.0.1:8000: serving\n",
        "12:30:01: started\n",
        "error: something\nwarning: other\n",
        "a: b: c\n" * 10,
    ],
)
def test_ordinary_lines_are_none(output):
    assert all(one.places[0].path in {"//127.0.0.1", "12"} for one in failures_in(output, "test"))


def test_there_is_an_end_to_them():
    output = "".join(f"src/a.py:{number}: error: no\n" for number in range(1, 5_000))
    assert len(failures_in(output, "types")) == MOST
    long = failures_in(f"src/a.py:1: error: {'x' * 100_000}\n", "types")
    assert len(long[0].message) == 300


@given(st.text(alphabet=' \n\tEat:"[]()/\\.-><0123456789FILEline,❯●abcé\x1b\x00', max_size=400))
def test_any_text_is_taken(text):
    for one in failures_in(text, "other"):
        assert one.places
        assert all(isinstance(place, Place) and place.line >= 0 for place in one.places)
