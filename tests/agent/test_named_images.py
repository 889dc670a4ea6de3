"""Images that the words of a task name: which paths are taken for one, and which of those the model is shown."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from outrider.agent.context.briefing import MOST_NAMES, named_images
from outrider.store.log import Store
from outrider.testing.scenario import embedded, start_session
from pictures import jpeg, png
from provider_server import ProviderServer, Said
from replayed import keep_sessions

TAKES = {"local/some-model": {"vision": True}}


@pytest.mark.parametrize(
    ("prompt", "paths"),
    [
        ("look at shot.png", ["shot.png"]),
        ("Why is `docs/a b.PNG` red? See also x/y.jpeg.", ["docs/a b.PNG", "x/y.jpeg"]),
        ("@shot.webp, then @img/two.gif!", ["shot.webp", "@shot.webp", "img/two.gif", "@img/two.gif"]),
        ('@"my shot.png"', ["my shot.png"]),
        ("“my shot.png” or 'other one.jpg'", ["my shot.png", "other one.jpg"]),
        ("![the page](shots/a%20b.png) [this](c.jpg \"title\") ![x](<d e.png>)",
         ["shots/a b.png", "shots/a%20b.png", "c.jpg", "d e.png"]),
        ("![plan (old)](plan(1).png)", ["plan(1).png"]),
        ("file:///home/me/w/shot.png and /home/me/w/b.png", ["file:///home/me/w/shot.png", "/home/me/w/b.png"]),
        ("shot=./a.png:3 (b.png)", ["./a.png", "b.png"]),
        ("see a.png.\nAnd ../b.png?", ["a.png", "../b.png"]),
        ("https://example.org/a.png is no file, nor is http://h/b.jpg", []),
        ("a.png.bak, a.pngs, x.png/y, png, .png", []),
        ("don't look at it, it's fine", []),
        ("", []),
    ],
)  # fmt: skip
def test_paths_of_images_are_found_in_words(prompt, paths):
    assert named_images(prompt) == paths


@given(some.text(alphabet="ab.png@(/)[]<>\"'` \n:%“”", max_size=200))
def test_no_words_break_the_search(prompt):
    assert all(path.lower().endswith("png") for path in named_images(prompt))


@pytest.mark.parametrize("unit", ["x", '"', "](", "@", "a.pn", "'a ", "`", "file:", "http://"])
def test_long_words_take_no_time(unit):
    began = time.process_time()
    named_images(unit * (400_000 // len(unit)))
    assert time.process_time() - began < 1
    assert len(named_images(" ".join(f"{number}.png" for number in range(500)))) == MOST_NAMES


@pytest.fixture
def said():
    """What the user was told of images in the latest task."""
    return []


@pytest.fixture
async def asked(workspace, said):
    """Gives a model a task; tells which images and which text it was sent with it."""
    async with ProviderServer() as server:

        async def asked(prompt, models=TAKES, **run):
            server.plays("openai-chat", Said("I see."))
            settings = {
                "providers": {"local": {"kind": "openai-chat", "baseUrl": server.url}},
                "models": models,
                "testing": None,
            }
            connection = embedded(workspace)
            async with start_session(
                "stock", workspace, "local/some-model", settings, connection=connection
            ) as editor:
                ended = await editor.run(prompt, **run)
                assert ended["outcome"] == "completed", ended
                told = await editor.command("outrider.prompt", {"sessionId": editor.session_id})
            said[:] = [one.text for one in editor.said if "is not sent" in one.text]
            names = [one["name"] for message in told["messages"] for one in message.get("images", ())]
            content = server.bodies[-1]["messages"][-1]["content"]
            shown = sum(part["type"] == "image_url" for part in content) if isinstance(content, list) else 0
            assert shown == (len(names) if models == TAKES else 0)
            return names, content

        yield asked


async def test_an_image_that_the_task_names_comes_with_it(asked, workspace):
    (workspace / "shots").mkdir()
    (workspace / "shots" / "a b.png").write_bytes(png(640, 480))
    (workspace / "two.jpg").write_bytes(jpeg(10, 20))
    (workspace / "no.png").write_text("words")
    names, _ = await asked("Look at ![a](shots/a%20b.png), @two.jpg, two.jpg, no.png and gone.png")
    assert names == ["shots/a b.png", "two.jpg"]


async def test_a_model_that_takes_none_is_told_so_of_what_the_task_names(asked, workspace):
    (workspace / "shot.png").write_bytes(png(640, 480))
    names, content = await asked("Look at shot.png", models={"local/some-model": {"vision": False}})
    assert names == ["shot.png"]
    assert "[shot.png: this model does not support images]" in content


@pytest.mark.parametrize(
    ("models", "why"),
    [
        (
            {},
            'it is not known to support images. If it does, set `[models."local/some-model"] vision = true`.',
        ),
        ({"local/some-model": {"vision": False}}, "your settings say that it does not support images."),
        (TAKES, None),
    ],
    ids=["unknown", "set", "takes it"],
)
async def test_the_user_is_told_of_an_image_that_the_model_is_not_shown(asked, workspace, said, models, why):
    (workspace / "shot.png").write_bytes(png(640, 480))
    await asked("Look at shot.png", models=models)
    told = f"Outrider: shot.png is not sent to the model local/some-model: {why}"
    assert said == ([] if why is None else [told])


async def test_words_bring_nothing_from_outside_and_nothing_that_is_shut(asked, workspace):
    outside = workspace.parent / "outside.png"
    for path in (outside, workspace / "private.png", workspace / "seen.png"):
        path.write_bytes(png(640, 480))
    (workspace / "link.png").symlink_to(outside)
    (workspace / ".outriderignore").write_text("private.png\n")
    prompt = f"{outside} ../outside.png link.png private.png ./private.png file://{outside} seen.png"
    attached = {"documents": [(workspace / "private.png").as_uri()]}
    assert (await asked(prompt, context=attached))[0] == ["seen.png"]


async def test_of_many_images_the_first_are_shown_and_none_twice(asked, workspace):
    for number in range(12):
        (workspace / f"{number}.png").write_bytes(png(64, 48 + number))
    attached = {"documents": [(workspace / f"{number}.png").as_uri() for number in (3, 9)]}
    names, _ = await asked("Compare 3.png 4.png ./3.png", context=attached)
    assert names == ["3.png", "4.png", "9.png"]
    names, _ = await asked(" ".join(f"{number}.png" for number in range(12)))
    assert names == [f"{number}.png" for number in range(8)]


async def test_an_image_that_the_person_names_meanwhile_comes_with_what_they_say(workspace):
    (workspace / "shot.png").write_bytes(png(640, 480))
    ask = Said(calls=[("call_a", "ask_user", {"question": "Go on?", "options": ["yes"]})])

    def meanwhile(_question):
        given = {"sessionId": editor.session_id, "text": "Look at shot.png too"}
        editor.command_nowait("outrider.steer", given)
        return "yes"

    async with ProviderServer() as server:
        server.plays("openai-chat", ask, Said("I see."), Said("And again."))
        settings = {
            "providers": {"local": {"kind": "openai-chat", "baseUrl": server.url}},
            "models": TAKES,
            "testing": None,
        }
        async with start_session(
            "stock",
            workspace,
            "local/some-model",
            settings,
            connection=embedded(workspace),
            answers=meanwhile,
        ) as editor:
            await editor.run("Go")
            await editor.run("Go on", sessionId=editor.session_id)
    texts, last = json.dumps(server.bodies[0]), server.bodies[-1]["messages"]
    assert "image_url" not in texts
    shown = [one["content"] for one in last if isinstance(one["content"], list)]
    assert [part["type"] for part in shown[0]] == ["text", "image_url"]
    assert "Look at shot.png too" in shown[0][0]["text"]
    assert len(shown) == 1
    await keep_sessions(Path(editor.options["stateDir"]))


async def test_what_the_person_says_while_images_are_read_is_in_the_next_request(workspace, monkeypatch):
    (workspace / "logo.png").write_bytes(png(640, 480))
    read_blobs = Store.blobs
    said = False

    async def and_meanwhile(store, digests):
        nonlocal said
        found = await read_blobs(store, digests)
        if not said and editor.events_of("tool.finished"):
            said = True
            await editor.command("outrider.steer", {"sessionId": editor.session_id, "text": "Be short."})
        return found

    async with ProviderServer() as server:
        server.plays(
            "openai-chat", Said(calls=[("call_a", "read_file", {"path": "logo.png"})]), Said("A logo.")
        )
        providers = {"local": {"kind": "openai-chat", "baseUrl": server.url}}
        async with start_session(
            "stock",
            workspace,
            "local/some-model",
            {"providers": providers, "models": TAKES, "testing": None},
            connection=embedded(workspace),
        ) as editor:
            monkeypatch.setattr(Store, "blobs", and_meanwhile)
            assert (await editor.run("Look"))["outcome"] == "completed"
    assert len(server.bodies) == 2
    assert "Be short." in json.dumps(server.bodies[1])
    (steered,) = editor.events_of("steering.received")
    first, second = editor.events_of("model.requested")
    assert first["seq"] < steered["seq"] < second["seq"]
    assert second["data"]["steering"] == [steered["data"]["pendingId"]]
    await keep_sessions(Path(editor.options["stateDir"]))
