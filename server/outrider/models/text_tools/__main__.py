"""Reads messages as JSON lines from standard input, and writes what calls are in them.

Each line in is `{"text": …, "tools": […]}`, each line out `{"calls": [{"name": …, "arguments": {…}}],
"content": …}`. Without `tools`, or with an empty list, every name counts as a tool's.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from outrider.models.text_tools import FORMATS, Call, Format, tool_of
from outrider.models.text_tools.source import listed
from outrider.ports.model import ReadAnew, TextDelta


def main(arguments: Sequence[str], source: TextIO, target: TextIO, errors: TextIO) -> int:
    """Run the command.

    Args:
        arguments: From the command line.
        source: Where the lines come from.
        target: Where the results go.
        errors: Where complaints go.

    Returns:
        0; 1 if a line was no message.
    """
    parser = argparse.ArgumentParser(prog="python -m outrider.models.text_tools", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--format", choices=sorted(FORMATS), metavar="ID", help="how calls are written")
    what.add_argument("--list", action="store_true", help="print the ids of all formats")
    parser.add_argument("--stream", action="store_true", help="feed each text character by character")
    chosen = parser.parse_args(arguments)
    if chosen.list:
        target.write("".join(f"{name}\n" for name in FORMATS))
        return 0
    failed = False
    for number, line in enumerate(source, 1):
        if not line.strip():
            continue
        try:
            message = json.loads(line)
            text, tools = message["text"], message.get("tools")
            if not isinstance(text, str) or (tools is not None and listed(tools) is None):
                raise TypeError
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            errors.write(f'line {number}: not a JSON object {{"text": …, "tools": […]}}\n')
            failed = True
            continue
        target.write(
            json.dumps(_result(FORMATS[chosen.format], text, listed(tools), stream=chosen.stream)) + "\n"
        )
        target.flush()
    return int(failed)


def _result(form: Format, text: str, definitions: list[Any] | None, *, stream: bool) -> dict[str, Any]:
    tools = [tool for tool in map(tool_of, definitions) if tool] if definitions else None
    parser = form.parser(tools)
    items = [item for piece in (text if stream else [text]) for item in parser.feed(piece)]
    items += parser.finish()
    withdrawn = max((number for number, one in enumerate(items) if isinstance(one, ReadAnew)), default=-1)
    items = items[withdrawn + 1 :]
    return {
        "calls": [{"name": one.name, "arguments": one.arguments} for one in items if isinstance(one, Call)],
        "content": "".join(item.text for item in items if isinstance(item, TextDelta)),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin, sys.stdout, sys.stderr))
