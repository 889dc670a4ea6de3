"""What the model does in these tests."""

EDIT = {
    "text": "I fix it.",
    "tool_calls": [
        {
            "name": "edit_file",
            "id": "e",
            "input": {"path": "tariff.py", "old": "hours * 3", "new": "hours * 2"},
        }
    ],
}
TWO_HUNKS = {
    "tool_calls": [
        {
            "name": "edit_file",
            "id": "e",
            "input": {
                "path": "tariff.py",
                "edits": [
                    {"old": "def price", "new": "def cost"},
                    {"old": "hours * 3", "new": "hours * 2"},
                ],
            },
        }
    ]
}
ASK = {
    "tool_calls": [
        {
            "name": "ask_user",
            "id": "q",
            "input": {"question": "Which price?", "options": ["Two", "Three"], "allow_free_form": True},
        }
    ]
}


def run(command, call_id="r"):
    """A command of the model."""
    return {"tool_calls": [{"name": "run_command", "id": call_id, "input": {"command": command}}]}
