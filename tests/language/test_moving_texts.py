"""Answers while the texts they are about change: in the editor, on disk, by whom it may be."""

import asyncio
import random
import re

import pytest
from hypothesis import settings
from test_scripted import told

from outrider.ports.language import Spot, Unknown

FILES = {"a.py": "def fee\n", "b.py": "use fee\n", "c.py": "use fee\nuse other\n"}
REFERENCES, RENAME = "textDocument/references", "textDocument/rename"
TIMINGS = 200


def name(uri):
    return uri.rpartition("/")[2]


def spot_in(languages, file="a.py"):
    return Spot(languages.sources.uri(file), 0, 4, "fee")


async def asked(languages, method):
    answers = await languages.answers_for(languages.sources.uri("a.py"), method)
    if method == RENAME:
        return await answers.rename(spot_in(languages), "tax")
    return await answers.places(method, spot_in(languages))


async def test_what_others_did_to_files_that_nobody_here_knows_is_told_before_the_next_question(
    toys, tmp_path
):
    """As `git checkout` does it: a file has other lines, one is gone, one is new, and no tool has read any of them."""
    root, log = tmp_path / "work", tmp_path / "log"
    async with toys(FILES, keeps=True, log=str(log)) as languages:
        assert len(await asked(languages, REFERENCES)) == 3
        (root / "b.py").write_text("import os\nimport sys\nuse fee\n")
        (root / "c.py").unlink()
        (root / "deep").mkdir()
        (root / "deep" / "late.py").write_text("\nuse fee\n")
        (root / "notes.txt").write_text("fee")
        found = await asked(languages, REFERENCES)
        assert {(name(one.spot.uri), one.spot.line, one.line) for one in found} == {
            ("a.py", 0, "def fee"),
            ("b.py", 2, "use fee"),
            ("late.py", 1, "use fee"),
        }
        assert told(log) == [{"b.py": 2, "c.py": 3, "late.py": 1}]
        (root / "b.py").write_text("use fee\n")
        (root / "deep").rename(root / "deeper")
        changed = {name(one.uri): one.after for one in await asked(languages, RENAME)}
        assert changed == {"a.py": "def tax\n", "b.py": "use tax\n", "late.py": "\nuse tax\n"}


async def until_sent(log, method, count=1):
    async with asyncio.timeout(20):
        while not log.exists() or log.read_text().count(f'"{method}"') < count:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("method", [REFERENCES, RENAME])
async def test_a_file_that_is_written_while_a_server_works_is_told_and_asked_about_again(
    toys, tmp_path, method
):
    root, log = tmp_path / "work", tmp_path / "log"
    async with toys(FILES, keeps=True, slow={method: 0.3}, log=str(log)) as languages:
        await asked(languages, REFERENCES if method == RENAME else RENAME)  # so that it has read the disk
        asking = asyncio.create_task(asked(languages, method))
        await until_sent(log, method)
        (root / "b.py").write_text("use other1\nuse other2\nuse fee\n")
        found = await asking
        if method == RENAME:
            assert {name(one.uri): one.after for one in found}["b.py"] == "use other1\nuse other2\nuse tax\n"
        else:
            assert ("b.py", 2, "use fee") in {(name(one.spot.uri), one.spot.line, one.line) for one in found}


@pytest.mark.parametrize("is_open", [True, False])
async def test_where_the_texts_never_stay_as_they_are_there_is_no_answer(toys, tmp_path, is_open):
    log = tmp_path / "log"
    async with toys(FILES, slow={RENAME: 0.05}, log=str(log)) as languages:
        asking = asyncio.create_task(asked(languages, RENAME))
        for count in range(1, 4):
            await until_sent(log, RENAME, count)
            if is_open:
                languages.sources.buffers["b.py"] = "\n" * count + "use fee\n"
            else:
                (tmp_path / "work" / "b.py").write_text("\n" * count + "use fee\n")
        assert await asking == Unknown("the text changed while the language server worked on it")
        assert log.read_text().count(f'"{RENAME}"') == 3


async def test_a_text_that_is_tried_for_somebody_else_is_no_text_of_an_answer(toys, tmp_path):
    """A server that works on a question is shown the text of an edit meanwhile, and has it when the answer comes."""
    log = tmp_path / "log"
    async with toys(FILES, slow={RENAME: 0.3}, late=0.5, log=str(log)) as languages:
        asking = asyncio.create_task(asked(languages, RENAME))
        await until_sent(log, RENAME)
        (server,) = await languages.servers_for(languages.sources.uri("b.py"))
        async with server.its_turn():
            server.show(languages.sources.uri("b.py"), "use other1\nuse other2\nuse fee\n")
            changed = {name(one.uri): one.after for one in await asking}
        assert changed == {"a.py": "def tax\n", "b.py": "use tax\n", "c.py": "use tax\nuse other\n"}


@pytest.mark.parametrize("method", [REFERENCES, RENAME])
async def test_typing_and_writing_at_any_moment_never_shift_an_answer(toys, tmp_path, method):
    """Each place that is told holds the name, and no edit replaces anything else, whoever types or asks meanwhile."""
    count = max(TIMINGS, settings.default.max_examples)
    chance = random.Random(settings.default.max_examples if settings.default.max_examples > TIMINGS else 15)
    root, fresh = tmp_path / "work", 0
    async with toys(FILES, keeps=True, slow={REFERENCES: 0.004, RENAME: 0.004}) as languages:
        sources = languages.sources

        def text_of(file):
            return sources.buffers.get(file) or (root / file).read_text()

        def type_in(file, text):
            if file in sources.buffers:
                sources.buffers[file] = text
            else:
                (root / file).write_text(text)

        for number in range(count):
            sources.buffers.clear()
            sources.buffers.update({"a.py": f"def fee {number}\n"})
            if chance.random() < 0.5:
                sources.buffers["b.py"] = f"use fee {number}\n"
            else:
                type_in("b.py", f"use fee {number}\n")
            asking = asyncio.create_task(asked(languages, method))
            others = []
            for _ in range(chance.randint(0, 3)):
                await asyncio.sleep(chance.uniform(0, 0.006))
                file = chance.choice(["b.py", "c.py"])
                if chance.random() < 0.3:
                    others.append(asyncio.create_task(languages.problems([sources.uri(file)], 5)))
                elif not asking.done():
                    lines = chance.choice(["use other1\nuse other2\n", "# typed\n", "xx fee\n"])
                    type_in(file, lines + text_of(file))
            found = await asking
            await asyncio.gather(*others)
            if len(text_of("c.py")) > 2000:
                type_in("c.py", FILES["c.py"])
            if isinstance(found, Unknown):
                continue
            fresh += 1
            for one in found:
                if method == RENAME:
                    assert one.after == re.sub(r"\bfee\b", "tax", one.before), number
                else:
                    assert re.match(r"fee\b", one.line[one.spot.column :]), number
        assert fresh > count // 2, "most are answered"


async def test_more_places_than_are_read_are_counted(toys):
    async with toys({"a.py": "def fee\n", "b.py": "use fee\n" * 1200}) as languages:
        found = await asked(languages, REFERENCES)
        assert (len(found), found.total) == (500, 1201)
