"""Clients of ACP: what they say of themselves, and where they do things their own way.

Read in their sources, except where a profile says otherwise; codecompanion and avante were also watched on the wire, with
Neovim 0.12 (`editors/README.md`, "Clients of ACP").
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Object = Mapping[str, Any]

_FILES: Final = {"fs": {"readTextFile": True, "writeTextFile": True}}


@dataclass(frozen=True, slots=True)
class AcpProfile:
    """A client."""

    name: str
    version: str
    capabilities: Object
    reads: Literal["buffer", "disk"] = "buffer"
    """Where the text of a file comes from when the agent asks for it."""
    writes: Literal["buffer", "disk"] = "buffer"
    """Whether an open buffer is changed and saved, or the file is written and the buffer loaded anew."""
    line_ends: Literal["kept", "unified"] = "unified"
    """Whether texts come with the line ends of the file."""
    last_line: Literal["kept", "unended"] = "kept"
    """Whether the end of the last line comes with a text."""
    missing: Literal["error", "empty"] = "error"
    """What it answers for a file that is not there."""
    key_takes: Literal["first", "last"] = "first"
    """Which option of a kind the user's key for that kind takes."""
    answers_by: Literal["option", "kind", "yes"] = "option"
    """Whether the user takes any option; only one that a key is for; or says yes to some ids alone, and no by all others."""
    shows_before_prompt: bool = True
    """Whether it shows what the agent says outside of a prompt."""


ACP_PROFILES: Final[Mapping[str, AcpProfile]] = {
    # Zed: crates/agent_servers/src/acp.rs (client_capabilities_for_agent), crates/acp_thread.
    "zed": AcpProfile(
        "zed",
        "1.10.3",
        {
            **_FILES,
            "terminal": True,
            "auth": {"terminal": True},
            "session": {"configOptions": {"boolean": {}}},
            "elicitation": {"form": {}, "url": {}},
            "_meta": {"terminal_output": True, "terminal-auth": True},
        },
    ),
    # The client of JetBrains is not public. Its name and that it drops what comes outside of a prompt are in reports of other
    # agents; its capabilities are those of the public Kotlin SDK's example. It reads answers strictly by the schema.
    "jetbrains": AcpProfile(
        "JetBrains.IntelliJ IDEA",
        "2026.1.4",
        {**_FILES, "terminal": True},
        shows_before_prompt=False,
    ),
    # codecompanion.nvim: lua/codecompanion/interactions/chat/acp/{fs,request_permission}.lua.
    "codecompanion": AcpProfile(
        "CodeCompanion.nvim",
        "1.0.0",
        _FILES,
        reads="disk",
        missing="empty",
        key_takes="last",
        answers_by="kind",
    ),
    # avante.nvim: lua/avante/llm.lua (on_read_file, on_write_file, on_request_permission), lua/avante/llm_tools/helpers.lua.
    "avante": AcpProfile(
        "", "", _FILES, writes="disk", last_line="unended", key_takes="last", answers_by="yes"
    ),
    # agent-shell: agent-shell.el (agent-shell--on-fs-*).
    "agent-shell": AcpProfile("agent-shell", "0.59.1", _FILES),
    # No editor at all, such as a chat client.
    "plain": AcpProfile("plain", "1", {}),
}
