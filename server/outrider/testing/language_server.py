"""A language server that does what a script says: late, about old texts, never, broken. A process of its own, of the standard library alone.

    python language_server.py '{"diagnostics": "push", "late": 0.2}'

Its language is a toy, in files of any kind. `def NAME` defines a name, `let NAME` below it a variable in it. `use NAME` uses one: if no file
defines it, that is an error. A word that begins with `BAD` is an error, one that begins with `ODD` a warning; the message names it, so that a
stale verdict can be told from a fresh one.

Keys of the script, all of which may be left out:

- `diagnostics`: how it tells of problems: `pull` (default), `registered` (pull, said only after `initialized`), `push`, `unversioned` (push
  without a version), `settling` (push, at first with no problems, then with all).
- `encoding`: `utf-8`, `utf-16` (default) or `utf-32`.
- `late`: seconds before problems are told.
- `stale`: true: problems are published for the version before the one they are about; `pull` answers with those of the text before.
- `disorder`: true: after the problems of a version those of the version before are published again.
- `slow`: methods with the seconds after which the answer comes that is worked out at once.
- `keeps`: true: what it has read from the disk it keeps until it is told of a change there.
- `remembers`: true: `pull` answers about a version of a text as it did the first time, whatever has changed around it.
- `never`: methods that are not answered.
- `nothing`: methods whose first request is answered with `null`, as by a server that something else interrupts.
- `cancelled`, `modified`: how many requests for problems are first answered with `ServerCancelled` or `ContentModified`.
- `crash`: a method; with it the server ends, each time.
- `starts`: a file that counts its starts; with `crash_until` it crashes until it was started so often.
- `asks`: requests that it makes after `initialized`, as `[method, params]`; what is answered is in the log.
- `flood`: how many more problems each file has.
- `beyond`: true: places lie beyond the ends of lines.
- `partial`: true: a part of each result comes first, as progress that nobody asked for.
- `unchanged`: true: problems are answered with `unchanged`, as if they had been told before.
- `loading`: seconds of progress after the start, in which it knows nothing; `begins`: seconds before that progress begins, in which it
  knows nothing either; `status`: true: it tells of it by `experimental/serverStatus`, and not by progress; `says`: true: only the line
  "Found … source files" of its log does, and until then it knows uses in open files alone.
- `actions`: `edit` (default), `resolve` or `command`: how an action says what it changes.
- `log`: a file that gets everything it receives, one JSON a line.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

Object = dict[str, Any]
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
_SERVER_CANCELLED, _CONTENT_MODIFIED, _METHOD_NOT_FOUND = -32802, -32801, -32601


class Document:
    """A text, with its version where it is open."""

    def __init__(self, text: str, version: int = 0) -> None:
        """Take a text."""
        self.text, self.version, self.before = text, version, text


class LanguageServer:
    """One server, on standard input and output."""

    def __init__(self, script: Object) -> None:
        """Behave as a script says."""
        self.script = script
        self.root = Path.cwd()
        self.open: dict[str, Document] = {}
        codec: tuple[str, int] = _CODECS[script.get("encoding", "utf-16")]
        self._codec, self._unit = codec
        self._left = {"cancelled": script.get("cancelled", 0), "modified": script.get("modified", 0)}
        self._nothing: set[str] = set(script.get("nothing", ()))
        self._ids = 0
        self._read: dict[str, str] | None = None
        self._remembered: dict[tuple[str, int], list[Object]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loading = bool(script.get("loading"))
        self._log: Path | None = Path(script["log"]) if "log" in script else None

    async def run(self) -> None:
        """Serve until the client is gone."""
        reader = asyncio.StreamReader(limit=1 << 26)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
                message: Object = json.loads(await reader.readexactly(length))
            except asyncio.IncompleteReadError:
                return
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(message) + "\n")
            if message.get("method") == "exit":
                return
            self._take(message)

    def _take(self, message: Object) -> None:
        method: str = message.get("method", "")
        params: Object = message.get("params") or {}
        if method and method == self.script.get("crash"):
            sys.stderr.write("it crashed as it was told to\n")
            sys.stderr.flush()
            os._exit(3)
        if method in self.script.get("never", ()):
            return
        if "id" in message and method:
            self._later(self._respond(message["id"], method, params))
        elif method == "initialized":
            self._later(self._greet())
        elif method == "workspace/didChangeWatchedFiles":
            self._told_of_disk(params)
        elif method.startswith("textDocument/did"):
            self._changed(method, params)

    def _later(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _send(self, message: Object) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        sys.stdout.buffer.flush()

    def _ask(self, method: str, params: Any) -> None:
        self._ids += 1
        self._send({"id": f"own-{self._ids}", "method": method, "params": params})

    async def _greet(self) -> None:
        for method, params in self.script.get("asks", ()):
            self._ask(method, params)
        if self.script.get("diagnostics") == "registered":
            self._ask(
                "client/registerCapability",
                {"registrations": [{"id": "d", "method": "textDocument/diagnostic", "registerOptions": {}}]},
            )
        if self._loading:
            await asyncio.sleep(self.script.get("begins", 0))
            self._tell_of_loading(is_over=False)
            await asyncio.sleep(self.script["loading"])
            self._loading = False
            self._tell_of_loading(is_over=True)
            self._publish_all(self.open)

    def _tell_of_loading(self, *, is_over: bool) -> None:
        if self.script.get("says"):
            if is_over:
                told: Object = {"type": 3, "message": f"Found {len(self.texts())} source files"}
                self._send({"method": "window/logMessage", "params": told})
            return
        if self.script.get("status"):
            told = {"health": "ok", "quiescent": is_over, "message": None}
            self._send({"method": "experimental/serverStatus", "params": told})
            return
        if not is_over:
            self._ask("window/workDoneProgress/create", {"token": "load"})
        value = {"kind": "end"} if is_over else {"kind": "begin", "title": "Loading"}
        self._send({"method": "$/progress", "params": {"token": "load", "value": value}})

    async def _respond(self, number: Any, method: str, params: Object) -> None:
        if method == "textDocument/diagnostic":
            failed = next((one for one in ("cancelled", "modified") if self._left[one] > 0), None)
            if failed is not None:
                self._left[failed] -= 1
                code = _SERVER_CANCELLED if failed == "cancelled" else _CONTENT_MODIFIED
                self._send({"id": number, "error": {"code": code, "message": failed}})
                return
        result: Any = None if method in self._nothing else self.answer(method, params)
        self._nothing.discard(method)
        if isinstance(result, KeyError):
            self._send({"id": number, "error": {"code": _METHOD_NOT_FOUND, "message": f"no {method}"}})
            return
        if method == "textDocument/diagnostic":
            await asyncio.sleep(self.script.get("late", 0))
        await asyncio.sleep(self.script.get("slow", {}).get(method, 0))
        if self.script.get("partial") and method not in {"initialize", "shutdown"}:
            self._send({"method": "$/progress", "params": {"token": "nobody-asked", "value": result}})
        self._send({"id": number, "result": result})

    def answer(self, method: str, params: Object) -> Any:
        """The result of a request; a `KeyError` where it knows no such."""
        answers: dict[str, Callable[[Object], Any]] = {
            "initialize": self._capabilities,
            "shutdown": lambda _: None,
            "textDocument/diagnostic": self._pulled,
            "textDocument/definition": lambda given: self._named(given, definitions=True),
            "textDocument/references": lambda given: self._named(given, definitions=False),
            "textDocument/hover": lambda given: {
                "contents": {"kind": "plaintext", "value": f"def {self._word(given)}"}
            },
            "textDocument/documentSymbol": lambda given: self._symbols(given["textDocument"]["uri"]),
            "workspace/symbol": self._all_symbols,
            "textDocument/prepareCallHierarchy": self._items,
            "callHierarchy/incomingCalls": self._calls,
            "textDocument/rename": self._renamed,
            "textDocument/formatting": lambda given: self._formatted(given["textDocument"]["uri"]),
            "textDocument/codeAction": self._actions,
            "codeAction/resolve": lambda given: {**given, "edit": given["data"]},
            "workspace/executeCommand": self._executed,
        }
        if method not in answers:
            return KeyError(method)
        if (
            self._loading
            and not self.script.get("says")
            and method not in {"initialize", "shutdown", "textDocument/diagnostic"}
        ):
            return None
        return answers[method](params)

    def _capabilities(self, params: Object) -> Object:
        pulls = self.script.get("diagnostics", "pull") == "pull"
        return {
            "capabilities": {
                "positionEncoding": self.script.get("encoding", "utf-16"),
                "textDocumentSync": 1,
                **(
                    {"diagnosticProvider": {"interFileDependencies": True, "workspaceDiagnostics": False}}
                    if pulls
                    else {}
                ),
                **{
                    f"{one}Provider": True
                    for one in (
                        "definition",
                        "references",
                        "hover",
                        "documentSymbol",
                        "workspaceSymbol",
                        "callHierarchy",
                        "rename",
                        "documentFormatting",
                    )
                },
                "codeActionProvider": {"resolveProvider": self.script.get("actions") == "resolve"},
                "executeCommandProvider": {"commands": ["toy.fix"]},
            },
            "serverInfo": {"name": "toy", "version": "1.0"},
        }

    # --- texts -----------------------------------------------------------------------------------------------

    def _changed(self, method: str, params: Object) -> None:
        given = params["textDocument"]
        uri = given["uri"]
        if method == "textDocument/didClose":
            self.open.pop(uri, None)
            return
        if method == "textDocument/didOpen":
            self.open[uri] = Document(given["text"], given["version"])
        elif method == "textDocument/didChange":
            document = self.open[uri]
            document.before, document.text, document.version = (
                document.text,
                params["contentChanges"][-1]["text"],
                given["version"],
            )
        else:
            return
        others = (other for other in self.open if other != uri and params.get("forceRebuild"))
        self._publish_all([uri, *others])

    def _publish_all(self, uris: Iterable[str]) -> None:
        if self.script.get("diagnostics") in {"push", "unversioned", "settling"} and not self._loading:
            for one in uris:
                self._later(self._publish(one, self.open[one].version))

    def texts(self) -> dict[str, str]:
        """All texts that it knows, open ones over the disk."""
        found = self._read if self._read is not None else self._on_disk()
        if self.script.get("keeps"):
            self._read = found
        if self._loading:
            found = {}
        opened = {uri: one.text for uri, one in self.open.items()}
        by_path = {unquote(uri): uri for uri in opened}
        return {**{uri: text for uri, text in found.items() if unquote(uri) not in by_path}, **opened}

    def _on_disk(self) -> dict[str, str]:
        return {
            "file://" + quote(str(path)): path.read_text("utf-8", "replace")
            for path in self.root.rglob("*")
            if path.is_file() and not any(part.startswith(".") for part in path.relative_to(self.root).parts)
        }

    def _told_of_disk(self, params: Object) -> None:
        now = self._on_disk()
        if self._read is not None:
            told: set[str] = {change["uri"] for change in params["changes"]}
            known = {uri: text for uri, text in self._read.items() if uri not in told}
            self._read = {**known, **{uri: now[uri] for uri in told & now.keys()}}

    async def _publish(self, uri: str, version: int) -> None:
        await asyncio.sleep(self.script.get("late", 0))
        if uri not in self.open:
            return
        document = self.open[uri]
        params: Object = {"uri": uri, "diagnostics": self._problems(uri, document.text)}
        if self.script.get("diagnostics") != "unversioned":
            params["version"] = version - 1 if self.script.get("stale") else version
        if self.script.get("diagnostics") == "settling":
            self._send({"method": "textDocument/publishDiagnostics", "params": {**params, "diagnostics": []}})
            await asyncio.sleep(0.05)
        self._send({"method": "textDocument/publishDiagnostics", "params": params})
        if self.script.get("disorder"):
            old = {"uri": uri, "version": version - 1, "diagnostics": self._problems(uri, document.before)}
            self._send({"method": "textDocument/publishDiagnostics", "params": old})

    def _pulled(self, params: Object) -> Object:
        if self.script.get("unchanged"):
            return {"kind": "unchanged", "resultId": "1"}
        uri = params["textDocument"]["uri"]
        document = self.open.get(uri)
        text = "" if document is None else document.before if self.script.get("stale") else document.text
        if document is not None and self.script.get("remembers"):
            found = self._remembered.setdefault((uri, document.version), self._problems(uri, text))
            return {"kind": "full", "items": found}
        return {
            "kind": "full",
            "items": [] if self._loading and not self.script.get("says") else self._problems(uri, text),
        }

    def _problems(self, uri: str, text: str) -> list[Object]:
        defined = {word for other in self.texts().values() for word in _words_after("def", other)}
        found: list[Object] = []
        for number, line in enumerate(text.split("\n")):
            words = line.replace("(", " ").replace(")", " ").replace(":", " ").split()
            for before, word in zip(["", *words], words, strict=False):
                at = line.find(word)
                if word.startswith(("BAD", "ODD")):
                    found.append(
                        self._problem(
                            number, line, at, word, f"{word} is bad", 1 if word.startswith("BAD") else 2
                        )
                    )
                if before == "use" and word not in defined:
                    found.append(self._problem(number, line, at, word, f"{word} is not defined", 1))
        flood: int = self.script.get("flood", 0)
        return found + [self._problem(number, "", 0, "", f"flood {number}", 2) for number in range(flood)]

    def _problem(self, number: int, line: str, at: int, word: str, message: str, severity: int) -> Object:
        return {
            "range": self._range(number, line, at, word),
            "severity": severity,
            "source": "toy",
            "message": message,
        }

    def _range(self, number: int, line: str, at: int, word: str) -> Object:
        if self.script.get("beyond"):
            return {
                "start": {"line": number, "character": 10_000},
                "end": {"line": number + 10_000, "character": 10_001},
            }
        start = len(line[:at].encode(self._codec)) // self._unit
        size = len(word.encode(self._codec)) // self._unit
        return {
            "start": {"line": number, "character": start},
            "end": {"line": number, "character": start + size},
        }

    # --- names -----------------------------------------------------------------------------------------------

    def _word(self, params: Object) -> str:
        at = params["position"]
        uri: str = params["textDocument"]["uri"]
        lines = self.texts().get(uri, "").split("\n")
        number: int = at["line"]
        line = lines[number] if number < len(lines) else ""
        before = line.encode(self._codec)[: at["character"] * self._unit].decode(self._codec, "ignore")
        start = len(before)
        while start > 0 and _is_word(line[start - 1]):
            start -= 1
        end = len(before)
        while end < len(line) and _is_word(line[end]):
            end += 1
        return line[start:end]

    def _places(self, word: str, *, definitions: bool) -> list[Object]:
        return [
            {"uri": uri, "range": self._range(number, line, at, word)}
            for uri, text in sorted(self.texts().items())
            for number, line in enumerate(text.split("\n"))
            for at in _columns(line, word)
            if not definitions or line[:at].rstrip().endswith("def")
        ]

    def _named(self, params: Object, *, definitions: bool) -> list[Object]:
        word = self._word(params)
        return self._places(word, definitions=definitions)

    def _symbols(self, uri: str) -> list[Object]:
        lines = self.texts().get(uri, "").split("\n")
        names = [
            (number, line, word) for number, line in enumerate(lines) for word in _words_after("def", line)
        ]
        starts = [number for number, _, _ in names] + [len(lines)]
        return [
            {
                **self._symbol(12, number, line, word, starts[index + 1]),
                "children": [
                    self._symbol(13, inner, lines[inner], name, inner + 1)
                    for inner in range(number + 1, starts[index + 1])
                    for name in _words_after("let", lines[inner])
                ],
            }
            for index, (number, line, word) in enumerate(names)
        ]

    def _symbol(self, kind: int, number: int, line: str, word: str, end: int) -> Object:
        return {
            "name": word,
            "kind": kind,
            "range": {"start": {"line": number, "character": 0}, "end": {"line": end, "character": 0}},
            "selectionRange": self._range(number, line, line.find(word), word),
        }

    def _all_symbols(self, params: Object) -> list[Object]:
        return [
            {
                "name": one["name"],
                "kind": one["kind"],
                "containerName": "" if one is outer else outer["name"],
                "location": {"uri": uri, "range": one["selectionRange"]},
            }
            for uri in sorted(self.texts())
            for outer in self._symbols(uri)
            for one in (outer, *outer["children"])
            if params["query"] in one["name"]
        ]

    def _items(self, params: Object) -> list[Object]:
        word = self._word(params)
        return [
            {
                "name": word,
                "kind": 12,
                "uri": one["uri"],
                "range": one["range"],
                "selectionRange": one["range"],
            }
            for one in self._places(word, definitions=True)
        ]

    def _calls(self, params: Object) -> list[Object]:
        item = params["item"]
        uses = [
            one
            for one in self._places(item["name"], definitions=False)
            if one not in self._places(item["name"], definitions=True)
        ]
        return [
            {
                "from": {**item, "uri": one["uri"], "name": "file", "detail": f"({Path(one['uri']).name})"},
                "fromRanges": [one["range"]],
            }
            for one in uses
        ]

    def _renamed(self, params: Object) -> Object:
        changes: dict[str, list[Object]] = {}
        for one in self._named(params, definitions=False):
            changes.setdefault(one["uri"], []).append({"range": one["range"], "newText": params["newName"]})
        return {"changes": changes}

    def _formatted(self, uri: str) -> list[Object]:
        edits: list[Object] = []
        for number, line in enumerate(self.texts().get(uri, "").split("\n")):
            if line != line.rstrip():
                edits.append(
                    {
                        "range": self._range(number, line, len(line.rstrip()), line[len(line.rstrip()) :]),
                        "newText": "",
                    }
                )
        return edits

    def _actions(self, params: Object) -> list[Object]:
        uri, found = params["textDocument"]["uri"], list[Object]()
        for one in params["context"]["diagnostics"]:
            edit = {"changes": {uri: [{"range": one["range"], "newText": "good"}]}}
            action: Object = {"title": f"Replace: {one['message']}", "kind": "quickfix", "isPreferred": True}
            match self.script.get("actions", "edit"):
                case "resolve":
                    action["data"] = edit
                case "command":
                    action["command"] = {"title": "Fix", "command": "toy.fix", "arguments": [edit]}
                case _:
                    action["edit"] = edit
            found.append(action)
        return found

    def _executed(self, params: Object) -> None:
        self._ask("workspace/applyEdit", {"edit": params["arguments"][0]})


def _is_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _columns(line: str, word: str) -> list[int]:
    """Where a word stands in a line; nowhere for none, which would be found at its end for ever."""
    found, at = list[int](), line.find(word) if word else -1
    while at >= 0:
        end = at + len(word)
        if not (at > 0 and _is_word(line[at - 1])) and not (end < len(line) and _is_word(line[end])):
            found.append(at)
        at = line.find(word, end)
    return found


def _words_after(mark: str, text: str) -> list[str]:
    words = text.replace("(", " ").replace(")", " ").replace(":", " ").split()
    return [word for before, word in pairwise(words) if before == mark]


def main() -> None:
    """Serve by the script that the command line gives."""
    script: Object = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
    if "starts" in script:
        counter = Path(script["starts"])
        count = int(counter.read_text()) + 1 if counter.exists() else 1
        counter.write_text(str(count))
        if count <= script.get("crash_until", 0):
            sys.exit(f"start {count} fails")
    asyncio.run(LanguageServer(script).run())


if __name__ == "__main__":
    main()
