"""The words that settings and options of the command line choose from: plain types, so that their import costs nothing."""

from typing import Literal

PermissionMode = Literal["read-only", "ask", "auto-edit", "auto", "full"]
"""What may happen without a question, from the narrowest to the widest."""

PERMISSION_MODES: tuple[PermissionMode, ...] = ("read-only", "ask", "auto-edit", "auto", "full")

Mode = Literal["agent", "plan", "explore"]
"""What a turn may do: everything, or only read, to answer with a plan or an answer."""

Effect = Literal["read", "edit", "execute", "ask"]
"""What a tool does: read, change texts, do anything else, talk to the user."""

EditFormat = Literal["replace", "patch", "whole"]
"""How a model best expresses an edit: old text and new text, a patch, or whole files."""

UndoScope = Literal["hunk", "step", "turn", "session"]

ProviderKind = Literal["openai-chat", "openai-responses", "anthropic", "ollama", "gemini"]
"""The APIs of providers that Outrider speaks."""

THINKING_LEVELS = ("off", "low", "medium", "high", "max")
