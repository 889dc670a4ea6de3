"""The scripted language server in the editor's hands: it sees the editor's buffers over the disk, and the editor lends it."""

from outrider.testing.editor.document_client import UnservedError
from outrider.testing.language_server import Document, LanguageServer

METHODS = [
    "textDocument/diagnostic", "textDocument/definition", "textDocument/references", "textDocument/hover",
    "textDocument/documentSymbol", "workspace/symbol", "textDocument/prepareCallHierarchy", "callHierarchy/incomingCalls",
    "textDocument/rename", "textDocument/formatting", "textDocument/codeAction", "codeAction/resolve",
]  # fmt: skip


def lend_toy(editor, *methods, suffix=".py", before=None, **script):
    """Have an editor lend the scripted server for files of one kind.

    Args:
        editor: The editor.
        methods: What it can do; absent: all.
        suffix: The ending of these files.
        before: Called with each request before it is answered.
        script: The script of the server.
    """

    def answer(asked):
        if any(not uri.endswith(suffix) for uri in asked.uris):
            raise UnservedError("no server for these files")
        server = LanguageServer({"encoding": editor.profile.lends_in or editor.desk.encoding, **script})
        server.root, texts = editor.root, server.texts
        server.texts = lambda: {uri: text for uri, text in texts().items() if uri.endswith(suffix)}
        server.open = {uri: Document(one.text, one.version) for uri, one in editor.desk.buffers.items()}
        for uri in asked.uris:
            server.open.setdefault(uri, Document(server.texts()[uri]))
        said = server.answer(asked.method, recounted(editor, server, asked.params))
        if before is not None:
            before(asked)
        return said

    editor.lent.update(dict.fromkeys(methods or METHODS, answer))
    editor.lent_by = ["toy"]


def recounted(editor, server, params):
    """Params with positions in the columns of the server, as a plugin has to send them."""
    codecs = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
    (codec, size), (wanted, unit) = codecs[editor.desk.encoding], codecs[server.script["encoding"]]

    def walk(value, uri):
        if isinstance(value, list):
            return [walk(one, uri) for one in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == {"line", "character"}:
            line = server.texts()[uri].split("\n")[value["line"]]
            text = line.encode(codec)[: value["character"] * size].decode(codec)
            return {**value, "character": len(text.encode(wanted)) // unit}
        return {key: walk(one, uri) for key, one in value.items() if key != "data"} | (
            {"data": value["data"]} if "data" in value else {}
        )

    return walk(params, params["textDocument"]["uri"]) if "textDocument" in params else params
