"""A server that plays a canned exchange over stdio: `fake_server.py SCENARIO.json`. Standard library only.

The scenario: `{"run": [step…], "shutdown": [step…], "commands": {name: result}, "initialize": [step…]}`. A step is
one of `{"event": …}`, `{"frame": …}`, `{"message": [type, text]}`, `{"raw": text}`, `{"stderr": text}`,
`{"die": code}`, `{"hang": true}` (until cancelled), `{"request": method, "params": …}` (the answer goes to the
transcript) and `{"ask": message, "titles": […], "then": {title or "null": [step…]}}`. What the client says is
written to SCENARIO.json.said, one JSON line each.
"""

import itertools
import json
import os
import sys
from pathlib import Path

PATH = Path(sys.argv[1])
SCENARIO = json.loads(PATH.read_text())
SAID = PATH.with_suffix(".json.said").open("a")
EARLY = []
SEQ = itertools.count(1)
ASKED = itertools.count(1)


def say(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    sys.stdout.buffer.flush()


def hear():
    if EARLY:
        return EARLY.pop(0)
    length = None
    while (line := sys.stdin.buffer.readline()).strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    if length is None:
        sys.exit(3)
    message = json.loads(sys.stdin.buffer.read(length))
    SAID.write(json.dumps(message) + "\n")
    SAID.flush()
    return message


def play(steps):
    for step in steps:
        match step:
            case {"event": kind, **data}:
                seq = next(SEQ)
                fields = {"v": 1, "seq": seq, "ts": f"2026-01-01T00:00:{seq:02}.000Z", "sessionId": "ses_1"}
                turn = {"turnId": "turn_1"} if not kind.startswith("session.") else {}
                say({"method": "outrider/event", "params": {**fields, **turn, "type": kind, "data": data}})
            case {"frame": kind, **rest}:
                params = {"sessionId": "ses_1", "turnId": "turn_1", "kind": kind, "offset": 0, **rest}
                say({"method": "outrider/stream", "params": params})
            case {"message": [level, text]}:
                say({"method": "window/showMessage", "params": {"type": level, "message": text}})
            case {"raw": text}:
                sys.stdout.buffer.write(text.encode())
                sys.stdout.buffer.flush()
            case {"stderr": text}:
                print(text, file=sys.stderr, flush=True)
            case {"die": code}:
                os._exit(code)
            case {"hang": _}:
                hang()
            case {"ask": message, "titles": titles, "then": then}:
                actions = [{"title": title} for title in titles]
                reply = ask("window/showMessageRequest", {"type": 3, "message": message, "actions": actions})
                if reply is not CANCELLED:
                    title = (reply.get("result") or {}).get("title", "null")
                    play(then[title])
            case {"request": method, "params": params}:
                ask(method, params)


CANCELLED = {"cancelled": True}


def ask(method, params):
    number = f"ask-{next(ASKED)}-{method}"
    say({"id": number, "method": method, "params": params})
    while True:
        message = hear()
        if message.get("id") == number and "method" not in message:
            return message
        if command(message):
            return CANCELLED


def hang():
    while not command(hear()):
        pass


def command(message):
    """Answer a command in the middle of a turn; True if it cancelled the turn."""
    params = message.get("params") or {}
    name = params.get("command")
    if name == "outrider.cancel":
        if SCENARIO.get("deafToCancel"):
            return False
        play([finished("cancelled")])
        say({"id": message["id"], "result": {"turnId": "turn_1", "outcome": "cancelled"}})
        return True
    if name == "outrider.answer":
        say({"id": message["id"], "result": {"id": params["arguments"][0]["id"]}})
        play(SCENARIO.get("answered", []))
    elif name == "outrider.status":
        say({"id": message["id"], "result": SCENARIO["commands"]["outrider.status"]})
    return False


def finished(outcome, **more):
    fields = {
        "outcome": outcome,
        "reason": outcome,
        "summary": "",
        "usage": {"inputTokens": 0, "outputTokens": 0},
    }
    return {"event": "turn.finished", **fields, **more}


def main():
    while True:
        message = hear()
        method, number = message.get("method"), message.get("id")
        match method:
            case "initialize":
                play(SCENARIO.get("initialize", []))
                say({"id": number, "result": {"capabilities": {}}})
            case "workspace/executeCommand":
                name = message["params"]["command"]
                canned = SCENARIO.get("commands", {}).get(name)
                if name == "outrider.answer":
                    command(message)
                elif canned is not None and "error" in canned:
                    say({"id": number, "error": canned["error"]})
                elif canned is not None:
                    say({"id": number, "result": canned})
                    play(SCENARIO.get(f"after {name}", []))
                elif name == "outrider.events":
                    say({"id": number, "result": {"events": [], "nextSeq": 1, "more": False}})
                elif name == "outrider.run":
                    play([{"event": "turn.started", "prompt": "p", "mode": "agent", "model": "m"}])
                    say({"id": number, "result": {"sessionId": "ses_1", "turnId": "turn_1"}})
                    play(SCENARIO.get("run", [finished("completed")]))
                else:
                    say({"id": number, "error": {"code": -32601, "message": f"no {name}"}})
            case "shutdown":
                play(SCENARIO.get("shutdown", []))
                say({"id": number, "result": None})
            case "exit":
                sys.exit(0)
            case _:
                pass


main()
