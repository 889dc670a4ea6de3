"""Draws aider's map, and counts tokens; run by `map_files.py` with the interpreter of an environment that has aider-chat.

A line in is a request, a line out its answer. The map is asked for as aider asks for it: with the words of the task, and the files that
they name; no file is in the chat yet.
"""

import json
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path

from aider.io import InputOutput  # pyright: ignore[reportMissingImports] -- of the other environment
from aider.repomap import RepoMap  # pyright: ignore[reportMissingImports] -- of the other environment
from litellm.litellm_core_utils.default_encoding import encoding  # pyright: ignore -- of the other environment; it brings the tokenizer


class Counter:
    def token_count(self, text):
        return len(encoding.encode(text, disallowed_special=()))


def draw(root, message, tokens):
    maps = RepoMap(
        map_tokens=tokens,
        root=root,
        main_model=Counter(),
        io=InputOutput(yes=True, pretty=False),
        map_mul_no_files=1,
        refresh="always",
    )
    files = [str(path) for path in sorted(Path(root).rglob("*")) if path.is_file()]
    words = set(re.split(r"\W+", message))
    relative = {str(Path(file).relative_to(root)) for file in files}
    said = {word.strip("`'\",.;:!?()") for word in message.split()}
    mentioned = {
        path
        for path in relative
        if path in said
        or Path(path).name in said
        or (len(Path(path).stem) >= 5 and Path(path).stem.lower() in {word.lower() for word in words})
    }
    return maps.get_repo_map(set(), files, mentioned_fnames=mentioned, mentioned_idents=words) or ""


for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "count":
        answer = Counter().token_count(request["text"])
    else:
        with redirect_stdout(sys.stderr):
            answer = draw(request["root"], request["message"], request["tokens"])
    print(json.dumps(answer), flush=True)
