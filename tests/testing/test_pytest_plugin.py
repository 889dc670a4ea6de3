"""The pytest plugin as a user has it: a project of their own, another pytest, warnings as errors."""

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.timeout(180)

TESTS = """
    import pytest
    from outrider.testing import call, say

    FILES = {"a.py": "price = hours * 3\\n"}
    FIX = call("edit_file", path="a.py", old="* 3", new="* 2")

    def yes(item):
        return item.tool == "edit_file"

    async def test_a_scenario(outrider_scenario):
        run = await outrider_scenario("Fix it.", [FIX, say("Done."), say("Nothing.")], workspace=FILES, on_confirmation=yes)
        assert (run.response, run.files) == ("Done.", {"a.py": "price = hours * 2\\n"})
        await run.go_on("What is left?")
        assert run.response == "Nothing."

    @pytest.mark.parametrize("profile", ["neovim-0.11", "vscode"])
    async def test_an_editor(profile, outrider_editor, outrider_workspace):
        folder = outrider_workspace(FILES)
        editor = await outrider_editor(profile, [FIX, say("Done.")], workspace=folder, answers=["Allow once"])
        editor.open("a.py")
        assert (await editor.run("Fix it."))["outcome"] == "completed"
        assert editor.text("a.py") == "price = hours * 2\\n"
        assert editor.disk("a.py") == FILES["a.py"]

    class TestInAClass:
        async def test_two_scenarios(self, outrider_scenario):
            one = await outrider_scenario("Hi", [say("One.")])
            two = await outrider_scenario("Hi", [say("Two.")], connection="stdio")
            assert (one.response, two.response) == ("One.", "Two.")
            assert one.session_id == two.session_id == "ses_1"
"""
MARKED = "    pytestmark = pytest.mark.asyncio\n"


def project(folder, tests, ini="", plugins=()):
    """Run pytest on a test file in a folder of its own; gives its output."""
    (folder / "pytest.ini").write_text(
        "[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n" + ini
    )
    (folder / "test_mine.py").write_text(textwrap.dedent(tests))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--timeout=40", *plugins]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=170, check=False
    ).stdout


def with_mark(tests, mark="asyncio"):
    return tests.replace("    FILES =", f"    pytestmark = pytest.mark.{mark}\n    FILES =", 1)


def test_fixtures_in_strict_mode(tmp_path):
    assert "= 4 passed in " in project(tmp_path, with_mark(TESTS), "asyncio_mode = strict\n")


@pytest.mark.thorough
def test_fixtures_in_auto_mode_on_two_workers(tmp_path):
    assert "= 4 passed in " in project(tmp_path, TESTS, "asyncio_mode = auto\n", ["-n", "2"]).replace(
        "\n4 passed", "= 4 passed"
    )


@pytest.mark.thorough
def test_fixtures_under_anyio(tmp_path):
    backend = '    @pytest.fixture\n    def anyio_backend():\n        return "asyncio"\n\n    FILES ='
    tests = with_mark(TESTS, "anyio").replace("    FILES =", backend, 1)
    assert "= 4 passed in " in project(tmp_path, tests)


@pytest.mark.thorough
def test_beside_the_client_of_pytest_lsp(tmp_path):
    tests = """
        import json, os, sys
        import pytest, pytest_lsp
        from lsprotocol import types
        from outrider.testing import say, scripted
        from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

        COMMAND = [sys.executable, "-m", "outrider", "serve"]

        @pytest_lsp.fixture(config=ClientServerConfig(server_command=COMMAND, server_env=dict(os.environ)))
        async def client(lsp_client: LanguageClient, outrider_workspace):
            folder = outrider_workspace({})
            options = {"model": scripted(folder, [say("From pytest-lsp.")]), "stateDir": str(folder.parent / "state")}
            await lsp_client.initialize_session(
                types.InitializeParams(
                    capabilities=client_capabilities("neovim"),
                    workspace_folders=[types.WorkspaceFolder(folder.as_uri(), "workspace")],
                    initialization_options=options,
                )
            )
            yield
            await lsp_client.shutdown_session()

        @pytest.mark.asyncio
        async def test_both(client: LanguageClient, outrider_scenario):
            run = await outrider_scenario("Hi", [say("From Outrider.")], connection="stdio")
            params = types.ExecuteCommandParams("outrider.run", [{"prompt": "Hi"}])
            turn = await client.workspace_execute_command_async(params)
            params = types.ExecuteCommandParams("outrider.wait", [{"turnId": turn["turnId"]}])
            done = await client.workspace_execute_command_async(params)
            assert (run.response, done["summary"]) == ("From Outrider.", "From pytest-lsp.")
    """
    assert "= 1 passed in " in project(tmp_path, tests)


def test_what_fails_is_said_so_that_it_can_be_read(tmp_path):
    tests = with_mark(
        """
        import pytest
        from outrider.testing import call, say

        FILES = {"a.py": "x"}
        READ = call("read_file", path="a.py")

        async def test_left_over(outrider_scenario):
            await outrider_scenario("Hi", [say("One."), READ, say("Three.")], workspace=FILES)

        async def test_exhausted(outrider_scenario):
            await outrider_scenario("Hi", [READ], workspace=FILES, connection="stdio")

        async def test_my_own(outrider_scenario):
            run = await outrider_scenario("Hi", [say("One.")])
            assert run.response == "Two."

        def test_not_a_coroutine(outrider_editor):
            pass
        """.replace("\n    ", "\n"),
    )
    said = project(tmp_path, tests)
    assert "= 3 failed, 1 error in " in said, "what a test began is ended in the test, not in its teardown"
    assert "left over: 2 of 3 answers of the script:" in said
    assert 'turns[1]: read_file({"path": "a.py"})' in said
    assert "turns[2]: 'Three.'" in said
    assert "script_exhausted: the script " in said
    assert "has 1 turn; call 2 has no answer" in said
    assert "the server's standard error:" in said
    assert "- Two.\nE         + One." in said
    assert said.count("-- Outrider, editor 1 --") == 1, "only where nothing of it is shown yet"
    assert "the last messages (stock):\n  " in said
    assert "the fixture outrider_editor needs a test that is a coroutine (`async def`)" in said


def test_it_costs_nothing_where_it_is_not_used():
    look = (
        "import sys; import pytest; before = set(sys.modules);"
        "import outrider.testing.pytest_plugin, outrider.testing;"
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('outrider')));"
        "print(sorted(name for name in sys.modules if name.startswith('outrider')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", look], capture_output=True, text=True, check=True, timeout=30
    )
    others, ours = done.stdout.splitlines()
    assert others == "[]"
    assert ours == "['outrider', 'outrider.testing', 'outrider.testing.pytest_plugin']"
