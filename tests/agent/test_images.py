"""Images reach the models that take them, in the way each provider wants them, and no other model."""

import base64
import json
from pathlib import Path

import pytest

from outrider.agent.context.pruning import MOST_IMAGE_BYTES, MOST_IMAGES, too_many_images, without_images
from outrider.ports.model import Image, Message
from outrider.replay.play import Replayed, play
from outrider.store.exported import parse_export
from outrider.testing.scenario import embedded, start_session
from outrider.workspace.images import BYTES_LIMIT
from outrider_protocol.export import Export
from pictures import gif, jpeg, png
from provider_server import IN_DIALECT, ProviderServer, Said, fails, tells
from replayed import keep_sessions

KINDS = sorted(IN_DIALECT)
LOGO = png(640, 480)
IN_BASE64 = base64.b64encode(LOGO).decode()
LOOKS = [("call_a", "read_file", {"path": "logo.png"}), ("call_b", "list_files", {"path": "."})]
SAID = f"[logo.png: image/png, 640 × 480 pixels, {len(LOGO)} bytes]"
TAKES = {"local/some-model": {"vision": True}}


@pytest.fixture
async def server():
    async with ProviderServer() as server:
        server.known["/api/show"] = tells({"capabilities": ["tools", "vision"]})
        yield server


@pytest.fixture
def start(server, workspace):
    """Starts an editor whose model is asked at the server, in a workspace with an image."""
    (workspace / "logo.png").write_bytes(LOGO)

    def start(kind, model="local/some-model", models=TAKES, **settings):
        providers = {"local": {"kind": kind, "baseUrl": server.url}}
        options = {"providers": providers, "models": models, "testing": None, **settings}
        return start_session("stock", workspace, model, options, connection=embedded(workspace))

    return start


async def look(start, server, kind, *turns, prompt="Look", **how):
    """Run a task, check that it replays, and give the editor."""
    server.plays(kind, *(turns or (Said("I look.", LOOKS), Said("A logo."))))
    context = how.pop("context", None)
    async with start(kind, **how) as editor:
        ended = await editor.run(prompt, **({"context": context} if context else {}))
        assert ended["outcome"] == "completed", ended
    await keep_sessions(Path(editor.options["stateDir"]))
    return editor


def results(editor):
    """What came of the calls, by their ids in the script."""
    ended = [event["data"] for event in editor.events_of("tool.finished")]
    return dict(zip(("call_a", "call_b"), ended, strict=False))


def shown(kind, body):
    """The images of a request: where each stands, what it is called there, and its content."""
    match kind:
        case "openai-chat":
            return [
                (message["role"], *part["image_url"]["url"].removeprefix("data:").split(";base64,"))
                for message in body["messages"]
                if isinstance(message["content"], list)
                for part in message["content"]
                if part["type"] == "image_url"
            ]
        case "openai-responses":
            return [
                (item["type"], *part["image_url"].removeprefix("data:").split(";base64,"))
                for item in body["input"]
                for part in [*item.get("content", ()), *(item.get("output") or ())]
                if isinstance(part, dict) and part["type"] == "input_image"
            ]
        case "anthropic":
            blocks = [block for message in body["messages"] for block in message["content"]]
            inside = [
                (outer["type"], block)
                for outer in blocks
                for block in outer.get("content", [outer])
                if isinstance(block, dict) and block["type"] == "image"
            ]
            return [(where, one["source"]["media_type"], one["source"]["data"]) for where, one in inside]
        case "gemini":
            found = []
            for part in (part for content in body["contents"] for part in content["parts"]):
                if data := part.get("inlineData"):
                    found.append(("part", data["mimeType"], data["data"]))
                for inner in part.get("functionResponse", {}).get("parts", ()):
                    data = inner["inlineData"]
                    found.append(("functionResponse", data["mimeType"], data["data"]))
            return found
        case "ollama":
            return [
                (message["role"], "image/png", image)
                for message in body["messages"]
                for image in message.get("images", ())
            ]


PLACE = {
    "openai-chat": "user",
    "openai-responses": "function_call_output",
    "anthropic": "tool_result",
    "gemini": "part",
    "ollama": "user",
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_model_that_takes_images_is_shown_one_that_it_reads(kind, start, server):
    editor = await look(start, server, kind)
    assert (results(editor)["call_a"]["status"], results(editor)["call_a"]["content"]) == ("ok", SAID)
    (image,) = results(editor)["call_a"]["images"]
    assert (image["name"], image["mediaType"], image["width"], image["height"], image["size"]) == (
        "logo.png",
        "image/png",
        640,
        480,
        len(LOGO),
    )
    assert shown(kind, server.bodies[0]) == []
    assert shown(kind, server.bodies[1]) == [(PLACE[kind], "image/png", IN_BASE64)]
    assert IN_BASE64[:40] not in json.dumps(editor.events)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_model_that_takes_none_is_told_so(kind, start, server):
    editor = await look(start, server, kind, models={"local/some-model": {"vision": False}})
    found = results(editor)["call_a"]
    assert (found["status"], found["content"]) == (
        "error",
        f"{SAID[:-1]}; not attached: this model does not support images]",
    )
    assert "images" not in found
    assert shown(kind, server.bodies[1]) == []


@pytest.mark.parametrize("kind", KINDS)
async def test_images_come_with_a_task(kind, start, server, workspace):
    uri = (workspace / "logo.png").as_uri()
    await look(start, server, kind, Said("A logo."), context={"documents": [uri]})
    ((where, *image),) = shown(kind, server.bodies[0])
    assert image == ["image/png", IN_BASE64]
    assert where in ("user", "message", "image", "part")


async def test_a_model_that_takes_none_is_told_of_those_of_a_task(start, server, workspace):
    uri = (workspace / "logo.png").as_uri()
    await look(start, server, "openai-chat", Said("?"), models={}, context={"documents": [uri]})
    assert "[logo.png: this model does not support images]" in server.bodies[0]["messages"][-1]["content"]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_was_sent_stays_the_same_to_the_byte(kind, start, server):
    turns = (
        Said("I look.", LOOKS),
        Said("Again.", [("call_c", "list_files", {"path": "tests"})]),
        Said("A logo."),
    )
    await look(start, server, kind, *turns)
    key = {"openai-responses": "input", "gemini": "contents"}.get(kind, "messages")
    earlier, later = (body[key] for body in server.bodies[1:3])
    if kind == "anthropic":  # marks for the cache move on
        earlier, later = json.loads(
            json.dumps([earlier, later]).replace(', "cache_control": {"type": "ephemeral"}', "")
        )
    assert later[: len(earlier)] == earlier
    assert len(shown(kind, server.bodies[2])) == 1


async def test_new_models_of_google_get_images_in_the_result(start, server):
    models = {"local/gemini-3-pro": {"vision": True}}
    await look(start, server, "gemini", model="local/gemini-3-pro", models=models)
    assert shown("gemini", server.bodies[1]) == [("functionResponse", "image/png", IN_BASE64)]


async def test_a_form_that_a_provider_does_not_take_is_said(start, server, workspace):
    (workspace / "logo.png").write_bytes(gif())
    await look(start, server, "gemini")
    assert shown("gemini", server.bodies[1]) == []
    assert "logo.png: this provider does not support image/gif" in server.received[1].body.decode()


async def test_what_an_image_is_is_told_by_its_bytes(start, server, workspace):
    (workspace / "logo.png").write_bytes(jpeg(10, 20))
    (workspace / "other.png").write_bytes(b"\x89PNG no image \x00")
    reads = [*LOOKS[:1], ("call_b", "read_file", {"path": "other.png"})]
    editor = await look(start, server, "openai-chat", Said(calls=reads), Said("A logo."))
    assert "image/jpeg, 10 × 20 pixels" in results(editor)["call_a"]["content"]
    assert results(editor)["call_b"]["content"] == "other.png is binary: it contains NUL characters"
    assert [one[1] for one in shown("openai-chat", server.bodies[1])] == ["image/jpeg"]


async def test_images_that_are_too_big_are_not_shown(start, server, workspace):
    (workspace / "logo.png").write_bytes(LOGO + bytes(BYTES_LIMIT))
    (workspace / "wide.png").write_bytes(png(9000, 1))
    reads = [*LOOKS[:1], ("call_b", "read_file", {"path": "wide.png"})]
    editor = await look(start, server, "openai-chat", Said(calls=reads), Said("Too big."))
    assert "logo.png is too big" in results(editor)["call_a"]["content"]
    assert "9000 × 1 pixels" in results(editor)["call_b"]["content"]
    assert shown("openai-chat", server.bodies[1]) == []


async def test_an_image_that_is_refused_is_left_out_and_the_request_made_again(start, server):
    refused = fails(400, {"error": {"message": "Could not process image", "type": "invalid_request_error"}})
    server.plays("anthropic", Said(calls=LOOKS), refused, Said("No logo."))
    async with start("anthropic") as editor:
        ended = await editor.run("Look")
        assert ended["summary"] == "No logo."
    await keep_sessions(Path(editor.options["stateDir"]))
    (again,) = editor.events_of("model.retried")
    assert again["data"]["reason"] == "no_images"
    assert [len(shown("anthropic", body)) for body in server.bodies] == [0, 1, 0]
    assert "[logo.png: this model does not support images]" in server.received[2].body.decode()


async def test_a_request_with_images_goes_to_a_model_that_takes_them(start, server):
    tiers = {"frontier": ["local/blind"], "mid": ["local/also-blind", "local/seeing"]}
    models = {"local/seeing": {"vision": True}}
    turns = (Said(calls=LOOKS), Said("A logo."))
    editor = await look(start, server, "openai-chat", *turns, model="tiers", models=models, tiers=tiers)
    assert [body["model"] for body in server.bodies] == ["blind", "seeing"]
    routed = editor.events_of("model.routed")[-1]["data"]
    assert {one["model"]: one.get("leftOut") for one in routed["candidates"]} == {
        "local/also-blind": "vision",
        "local/seeing": None,
        "local/blind": "vision",
    }
    assert len(shown("openai-chat", server.bodies[1])) == 1


async def test_a_later_turn_has_the_images_again_after_a_restart(start, server, workspace):
    server.plays("anthropic", Said(calls=LOOKS), Said("A logo."), Said("Still a logo."))
    async with start("anthropic") as editor:
        await editor.run("Look")
        session = editor.session_id
    (workspace / "logo.png").unlink()
    async with start("anthropic", stateDir=editor.options["stateDir"]) as editor:
        await editor.command("outrider.resume", {"sessionId": session})
        await editor.run("Again", sessionId=session)
    assert shown("anthropic", server.bodies[2]) == [("tool_result", "image/png", IN_BASE64)]


async def test_a_model_that_takes_none_gets_a_conversation_with_images(start, server):
    server.plays("openai-chat", Said(calls=LOOKS), Said("A logo."), Said("What logo?"))
    async with start("openai-chat") as editor:
        await editor.run("Look")
        await editor.run("Again", sessionId=editor.session_id, model="local/blind")
    assert shown("openai-chat", server.bodies[2]) == []
    assert "[logo.png: this model does not support images]" in server.received[2].body.decode()


async def test_an_export_leaves_images_out_and_says_so(start, server, workspace):
    server.plays("anthropic", Said(calls=LOOKS), Said("A logo."))
    async with start("anthropic") as editor:
        await editor.run("Look", context={"documents": [(workspace / "logo.png").as_uri()]})
        exported = await editor.command("outrider.export", {"sessionId": editor.session_id})
    export = parse_export(json.dumps(exported).encode())
    assert isinstance(export, Export), export
    replayed = await play(export)
    assert isinstance(replayed, Replayed), replayed
    assert replayed.difference is None
    assert exported["removed"]["image"] == 1
    assert IN_BASE64[:40] not in json.dumps(exported)
    assert "logo.png" in json.dumps(exported)


async def test_images_count_and_are_left_out_first_of_old_output(start, server, workspace, monkeypatch):
    monkeypatch.setattr("provider_server.USAGE", (0, 0))  # it counts nothing
    models = {"local/some-model": {"vision": True, "contextWindow": 16_000}}
    (workspace / "logo.png").write_bytes(png(1200, 1000))
    steps = [
        Said(calls=[(f"call_{number}", "read_file", {"path": "logo.png", "start_line": number + 1})])
        for number in range(8)
    ]
    editor = await look(start, server, "anthropic", *steps, Said("A logo."), models=models)
    pruned = editor.events_of("context.pruned")
    assert pruned and pruned[0]["data"]["callIds"][0] == "call_0"
    assert len(shown("anthropic", server.bodies[-1])) < 8


def results_with_images(sizes):
    images = [Image("a.png", f"{number}", "image/png", 8, 8, size) for number, size in enumerate(sizes)]
    return [Message("tool", "[a.png]", tool_call_id=image.hash, images=(image,)) for image in images]


def test_the_oldest_of_too_many_images_are_left_out():
    many = results_with_images([10] * (MOST_IMAGES + 2))
    assert too_many_images(many[2:]) == []
    assert too_many_images(many) == ["0", "1"]
    after = without_images(many, ["0", "1"])
    assert [len(message.images) for message in after] == [0, 0] + [1] * MOST_IMAGES
    assert after[0].text.startswith("[a.png]\n[Left out")
    assert too_many_images(after) == []
    assert too_many_images(results_with_images([1, MOST_IMAGE_BYTES - 5, 5])) == ["0"]


async def test_a_request_has_no_more_images_than_providers_take(start, server, workspace):
    names = [f"{number}.png" for number in range(MOST_IMAGES + 1)]
    for number, name in enumerate(names):
        (workspace / name).write_bytes(png(8, 8, number))
    reads = [(f"call_{name}", "read_file", {"path": name}) for name in names]
    editor = await look(start, server, "anthropic", Said(calls=reads), Said("Many."))
    (pruned,) = editor.events_of("context.pruned")
    assert pruned["data"]["callIds"] == ["call_0.png"]
    sent = [base64.b64decode(image) for _, _, image in shown("anthropic", server.bodies[1])]
    assert sent == [png(8, 8, number) for number in range(1, MOST_IMAGES + 1)]


async def test_a_task_gives_up_its_images_before_it_is_too_long(start, server, workspace, monkeypatch):
    monkeypatch.setattr("provider_server.USAGE", (0, 0))  # it counts nothing
    names = [f"{number}.png" for number in range(8)]
    for number, name in enumerate(names):
        (workspace / name).write_bytes(png(1200, 1000, number))
    models = {"local/some-model": {"vision": True, "contextWindow": 16_000}}
    context = {"documents": [(workspace / name).as_uri() for name in names]}
    editor = await look(start, server, "anthropic", Said("Many."), models=models, context=context)
    (trimmed,) = editor.events_of("context.trimmed")
    assert {part["kind"] for part in trimmed["data"]["parts"]} == {"image"}
    assert shown("anthropic", server.bodies[0]) == []
    assert "0.png" in server.received[0].body.decode()


async def test_the_prompt_tells_of_images(start, server, workspace, monkeypatch):
    monkeypatch.setattr("provider_server.USAGE", (0, 0))  # it counts nothing
    server.plays("anthropic", Said(calls=LOOKS), Said("A logo."))
    uri = (workspace / "logo.png").as_uri()
    async with start("anthropic") as editor:
        await editor.run("Look", context={"documents": [uri]})
        told = await editor.command("outrider.prompt", {"sessionId": editor.session_id})
    of_task, of_result = (message for message in told["messages"] if "images" in message)
    assert [one["name"] for one in (*of_task["images"], *of_result["images"])] == ["logo.png"] * 2
    assert of_result["tokens"] > 640 * 480 // 750
    assert {"kind": "image", "name": "logo.png", "tokens": 410} in of_task["sections"]
