"""A language server of a hundred lines, to test the fake editor against: it keeps documents and answers nothing else.

Its positions are found by slicing encoded lines, which is another way than the fake editor's.
"""

import json
import re
import sys

UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
COMMANDS = ["tiny.echo", "tiny.fail", "tiny.silent"]


class TinyServer:
    def __init__(self, write, *, encoding="utf-16", sync=2):
        self.write = write
        self.encoding = encoding
        self.sync = {"openClose": True, "change": sync, "save": {"includeText": True}}
        self.documents = {}
        self.versions = {}
        self.saved = {}
        self.log = []
        self.responses = {}
        self.actions = []
        self.results = {}
        self.shuts_down = True
        self.next_id = 0

    def receive(self, body):
        message = json.loads(body)
        self.log.append(message)
        if "method" not in message:
            self.responses[message["id"]] = message
            return
        params = message.get("params") or {}
        match message["method"]:
            case "initialize":
                result = {
                    "capabilities": {
                        "textDocumentSync": self.sync,
                        "positionEncoding": self.encoding,
                        "executeCommandProvider": {"commands": COMMANDS},
                    }
                }
                self.send(id=message["id"], result=result)
            case "shutdown":
                if self.shuts_down:
                    self.send(id=message["id"], result=None)
            case "workspace/executeCommand":
                self.execute(message["id"], params)
            case "textDocument/codeAction":
                self.send(id=message["id"], result=self.actions)
            case "textDocument/didOpen":
                document = params["textDocument"]
                self.documents[document["uri"]] = document["text"]
                self.versions[document["uri"]] = document["version"]
            case "textDocument/didChange":
                self.change(params)
            case "textDocument/didSave":
                self.saved[params["textDocument"]["uri"]] = params["text"]
            case "textDocument/didClose":
                del self.documents[params["textDocument"]["uri"]]
            case _:
                pass

    async def close(self):
        pass

    def execute(self, number, params):
        match params["command"]:
            case "tiny.echo":
                self.send(id=number, result=params["arguments"][0])
            case "tiny.fail":
                error = {"code": -32803, "message": "no", "data": {"reason": "unknown_id"}}
                self.send(id=number, error=error)
            case name if name in self.results:
                self.send(id=number, result=self.results[name])
            case _:
                pass

    def change(self, params):
        uri = params["textDocument"]["uri"]
        if uri not in self.documents:
            return
        assert params["textDocument"]["version"] > self.versions[uri]
        self.versions[uri] = params["textDocument"]["version"]
        for change in params["contentChanges"]:
            if "range" in change:
                text = self.documents[uri]
                start = self.offset(text, change["range"]["start"])
                end = self.offset(text, change["range"]["end"])
                self.documents[uri] = text[:start] + change["text"] + text[end:]
            else:
                self.documents[uri] = change["text"]

    def offset(self, text, position):
        lines = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", text)
        before = "".join(lines[: position["line"]])
        line = text[len(before) :]
        codec, size = UNITS[self.encoding]
        encoded = line.encode(codec)[: position["character"] * size]
        return len(before) + len(encoded.decode(codec))

    def send(self, **message):
        self.write({"jsonrpc": "2.0", **message})

    def ask(self, method, params):
        self.next_id += 1
        self.send(id=self.next_id, method=method, params=params)
        return self.next_id

    def question(self, *titles):
        actions = [{"title": title} for title in titles]
        return self.ask("window/showMessageRequest", {"type": 3, "message": "May I?", "actions": actions})

    def edit(self, uri, *edits, version=None):
        document = {"uri": uri, "version": self.versions[uri] if version is None else version}
        changes = [{"textDocument": document, "edits": list(edits)}]
        return self.ask("workspace/applyEdit", {"label": "Tiny", "edit": {"documentChanges": changes}})


def text_edit(start, end, new):
    """A text edit between two (line, character) pairs."""
    places = ({"line": line, "character": character} for line, character in (start, end))
    return {"range": dict(zip(("start", "end"), places, strict=True)), "newText": new}


def main():
    def write(message):
        body = json.dumps(message).encode()
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        sys.stdout.buffer.flush()

    server = TinyServer(write)
    source = sys.stdin.buffer
    while line := source.readline():
        length = int(line.split(b":")[1])
        source.readline()
        message = json.loads(source.read(length))
        if message.get("method") == "exit":
            return 0
        if message.get("method") == "garbage":
            sys.stdout.buffer.write(b"hello\r\n\r\n")
            sys.stdout.buffer.flush()
        server.receive(json.dumps(message))
    return 3


if __name__ == "__main__":
    sys.exit(main())
