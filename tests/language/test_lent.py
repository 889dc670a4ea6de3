"""The editor's language servers, asked: at any moment of typing, and whatever comes back."""

import asyncio
import random
import time

import pytest
from house import Folder, NoLender, house
from hypothesis import settings

from outrider.language import lent
from outrider.ports.editor import EditorTraits, Lent
from outrider.ports.language import Spot, Unknown

TIMINGS = 200


class Lender(NoLender):
    """An editor that lends what a test gives it."""

    traits = EditorTraits(
        can_apply_edits=False,
        can_show_documents=False,
        settle_seconds=0,
        debounce_seconds=0,
        lends_language=True,
    )

    def __init__(self, sources, answer):
        self.sources, self.answer, self.asked = sources, answer, []

    async def language(self, method, params, uris, *, seconds):
        self.asked.append(method)
        result = self.answer(method, params)
        if asyncio.iscoroutine(result):
            result = await result
        versions = {one.name: one.version for one in self.sources.open() if one.name in uris}
        return Lent(result, "utf-16", ["a" * 900] * 900, versions)


def lending(root, answer):
    sources = Folder(root)
    return house(root, {}, sources=sources, editor=Lender(sources, answer))


def mark(line, character):
    place = {"line": line, "character": character}
    return {"start": place, "end": {**place, "character": character + 3}}


async def test_typing_at_any_moment_never_brings_an_answer_about_text_that_is_gone(tmp_path):
    """Each answer names the line that the editor had; where one comes back, that line is there now, and in the edit too."""
    chance = random.Random(settings.default.max_examples if settings.default.max_examples > TIMINGS else 15)
    count = max(settings.default.max_examples, TIMINGS)
    fresh = 0

    def write(sources, name, text):
        sources.buffers[name] = text
        sources.versions[name] = sources.versions.get(name, 0) + 1

    async def answer(method, params):
        sources = languages.sources
        texts = {name: sources.buffers[name].split("\n") for name in ("a.py", "b.py")}
        places = [
            (sources.uri(name), mark(number, line.index("fee")))
            for name, lines in texts.items()
            for number, line in enumerate(lines)
            if "fee" in line
        ]
        await asyncio.sleep(chance.uniform(0, 0.003))
        if method == "textDocument/rename":
            return {"changes": {uri: [{"range": at, "newText": "tax"}] for uri, at in places}}
        return [{"uri": uri, "range": at} for uri, at in places]

    async with lending(tmp_path, answer) as languages:
        sources = languages.sources
        for number in range(count):
            write(sources, "a.py", f"def fee {number}\n")
            write(sources, "b.py", f"use fee {number}\n")
            answers = await languages.answers_for(sources.uri("a.py"), "textDocument/references")
            spot = Spot(sources.uri("a.py"), 0, 4, "fee")
            asks = (
                answers.rename(spot, "tax") if number % 2 else answers.places("textDocument/references", spot)
            )
            asking = asyncio.create_task(asks)
            for _ in range(chance.randint(0, 3)):
                await asyncio.sleep(chance.uniform(0, 0.004))
                name = chance.choice(["a.py", "b.py"])
                if not asking.done():
                    write(sources, name, f"{chance.choice(['# typed', 'x = 1'])}\n{sources.buffers[name]}")
            found = await asking
            if isinstance(found, Unknown):
                continue
            fresh += 1
            assert len(found) == 2
            for one in found:
                if number % 2:
                    # An edit of a text that was typed into by now is refused by the one who makes it.
                    assert one.after == one.before.replace("fee", "tax"), number
                else:
                    line = sources.buffers[one.spot.uri.rpartition("/")[2]].split("\n")[one.spot.line]
                    assert line == one.line, number
                    assert line[one.spot.column :].startswith("fee"), number
    assert fresh > count // 4, "most are answered"


async def test_a_place_that_says_something_else_by_now_is_not_asked_about(tmp_path):
    (tmp_path / "a.py").write_text("other\ndef fee\n")
    async with lending(tmp_path, lambda *_: []) as languages:
        uri = languages.sources.uri("a.py")
        answers = await languages.answers_for(uri, "textDocument/rename")
        assert await answers.rename(Spot(uri, 0, 4, "fee"), "tax") == Unknown(
            "the text has changed meanwhile"
        )
        assert languages.editor.asked == []


MANY = 100_000
FAR = {"start": {"line": 2**30, "character": 2**30}, "end": {"line": 2**31 - 1, "character": 0}}
DEEP = {"name": "deep", "kind": 12, "selectionRange": mark(0, 4)}
for _ in range(900):
    DEEP = {**DEEP, "children": [DEEP]}


async def test_what_is_read_of_an_answer_is_bounded(tmp_path):
    (tmp_path / "a.py").write_text("def fee\n")
    uri = (tmp_path / "a.py").as_uri()
    first = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    said = {
        "textDocument/references": [{"uri": uri, "range": mark(n, n) if n % 2 else FAR} for n in range(MANY)],
        "textDocument/documentSymbol": [DEEP, *[{"name": "n" * 999, "selectionRange": FAR}] * MANY],
        "textDocument/codeAction": [{"title": "t" * 999}] * MANY,
        "textDocument/rename": {"changes": {f"file:///x/{n}.py": [] for n in range(MANY)}},
        "textDocument/formatting": [{"range": first, "newText": "x"}] * MANY,
        "textDocument/diagnostic": {"items": [{"range": first, "message": "m" * 9_999}] * MANY},
        "workspace/diagnostic": {"items": [{"uri": uri, "items": [{"range": first, "message": "m"}]}] * MANY},
        "textDocument/hover": {"contents": "h" * 5_000_000},
    }
    async with lending(tmp_path, lambda method, _: said[method]) as languages:
        answers = await languages.answers_for(uri, "")
        spot = Spot(uri, 0, 4)
        began = time.monotonic()
        assert len(await answers.places("textDocument/references", spot)) <= 500
        outline = await answers.outline(uri)
        assert len(outline) <= 500
        assert all(len(one.name) <= 200 for one in outline)
        assert len(await languages.offered(uri, (0, 0), None)) <= 500
        assert "the limit of one call is 300" in (await answers.rename(spot, "tax")).message
        (formatted,) = await answers.format(uri, None)
        assert formatted.after == "x" * MANY + "def fee\n"
        assert len(await languages.shown(uri)) == 10_000
        assert len(await languages.shown(None)) == 10_000
        assert len(await answers.hover(spot)) == 2_000
        (status,) = await languages.status()
        assert (status.name, status.state, len(status.detail) < 1_000) == ("python", "lent", True)
        assert time.monotonic() - began < 20


@pytest.mark.parametrize("method", ["textDocument/hover", "textDocument/references"])
async def test_the_editor_has_its_time_and_no_more(tmp_path, method):
    (tmp_path / "a.py").write_text("def fee\n")
    given = []

    class Slow(Lender):
        async def language(self, method, params, uris, *, seconds):
            given.append(seconds)
            return Lent(None, "utf-16")

    sources = Folder(tmp_path)
    async with house(tmp_path, {}, sources=sources, editor=Slow(sources, None)) as languages:
        answers = await languages.answers_for(sources.uri("a.py"), method)
        await answers.places(method, Spot(sources.uri("a.py"), 0, 4))
    assert given == [lent.LONG_SECONDS if method.endswith("references") else lent.SECONDS]
