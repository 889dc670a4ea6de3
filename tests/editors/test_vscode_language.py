"""VS Code lends its own language servers: what the model looks up and renames is worked out by them, and none of ours runs."""

from typing import Any

import pytest

from editors.parking import IN_THE_WORKBENCH, Begin, asked, give
from editors.workbench import plain

pytestmark = IN_THE_WORKBENCH

FEE = "export function fee(hours: number): number {\n  return hours * 2;\n}\n"
USE = 'import { fee } from "./fee";\n\nexport function label(hours: number): string {\n  return `${fee(hours)}`;\n}\n'


SAYS_NO = "it says no"


def _own(language: str) -> dict[str, Any]:
    """A server of Outrider's own that answers nothing: what was asked of it fails with its words."""
    return {"command": ["/bin/sh", "-c", f"echo {SAYS_NO} >&2; exit 3"], "languages": [language]}


def _calls(name: str, **given: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "input": given, "id": name}]}


def test_the_editors_typescript_finds_references_and_renames_and_no_other_is_started(begin: Begin) -> None:
    found = "3 references to fee, in 2 files"
    turns = [
        _calls("references", symbol="fee", path="fee.ts", line=1),
        _calls("rename_symbol", symbol="fee", path="fee.ts", line=1, new_name="price")
        | {"expect": {"last_message_contains": found}},
        {"text": "Renamed."},
    ]
    with begin(turns, settings={"outrider.languageServers": {"own": _own("typescript")}}) as bench:
        files = {"fee.ts": FEE, "use.ts": USE, "tsconfig.json": '{"compilerOptions": {"strict": true}}\n'}
        for name, text in files.items():
            (bench.folder / name).write_text(text, encoding="utf-8")
        # The editor's server reads the project when it is shown a file of it.
        bench.open("use.ts")
        bench.open("fee.ts")
        give(bench, "Call it price")
        asked(bench, "Rename fee to price (in 2 files)")
        bench.shot("lent-rename")
        bench.view.locator(".card button", has_text="Allow once").click()
        bench.until(lambda: "Renamed." in bench.view_text(), "the end of the turn")
        bench.until(lambda: "function price(" in bench.text(), "the name in the open file")
        bench.open("use.ts")
        bench.until(lambda: "${price(hours)}" in bench.text(), "the name in the other file")
        # One undo takes all of it back.
        bench.command("Outrider: Undo Turn")
        bench.until(lambda: "${fee(hours)}" in bench.text(), "the other file as it was")
        bench.open("fee.ts")
        bench.until(lambda: "function fee(" in bench.text(), "the open file as it was")
        assert "references" in plain(bench.view_text())


@pytest.mark.thorough
def test_what_no_extension_serves_is_asked_of_a_server_of_outriders_own(begin: Begin) -> None:
    turns = [
        _calls("references", symbol="price", path="tariff.py", line=4),
        {"text": "Looked.", "expect": {"last_message_contains": SAYS_NO}},
    ]
    with begin(turns, settings={"outrider.languageServers": {"own": _own("python")}}) as bench:
        bench.open("tariff.py")
        give(bench, "Who uses it?")
        bench.until(lambda: "Looked." in bench.view_text(), "the end of the turn, after ours was asked")
