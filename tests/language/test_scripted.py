"""What only a misbehaving server shows: every answer is right or there is none, in time, whatever the server does."""

import asyncio
import json
import random
import re
import time
from dataclasses import replace
from itertools import groupby, pairwise

import pytest
from house import Folder, toy, until
from hypothesis import given, settings
from hypothesis import strategies as st

from outrider.language import server as server_module
from outrider.ports.language import Spot, Touched, Unknown
from outrider.testing.language_server import LanguageServer

FILES = {"a.py": "def price\n\ndef other\n", "b.py": "use price\n", "c.py": "use price\nuse other\n"}
LINES = [range(1)]
HOW_TO_TRUST = "the folder is not trusted; `outrider trust add` there says that it is"


def messages(found):
    return sorted(one.message for one in found)


async def verdict(
    languages, before, after, *, seconds=5.0, name="a.py", lines=LINES, is_trial=True, least="error"
):
    """What one edit does to the problems; None where that is not known in time."""
    touched = [Touched(languages.sources.uri(name), before, after, lines)]
    check = await languages.judge(touched, is_trial=is_trial, least=least)
    try:
        return await check.within(seconds, languages.clock)
    finally:
        await check.end()


def told(log):
    """What a server was told of the disk, each time by the names of the files."""
    messages = (json.loads(line) for line in log.read_text().splitlines())
    return [
        {one["uri"].rpartition("/")[2]: one["type"] for one in message["params"]["changes"]}
        for message in messages
        if message.get("method") == "workspace/didChangeWatchedFiles"
    ]


WAYS = [
    {},
    {"diagnostics": "registered"},
    {"diagnostics": "push"},
    {"diagnostics": "settling"},
    {"diagnostics": "push", "disorder": True},
    {"cancelled": 2},
    {"modified": 2},
    {"partial": True},
    {"late": 0.1},
    {"encoding": "utf-8"},
    {"encoding": "utf-32"},
    {"loading": 0.1, "diagnostics": "push"},
    {"loading": 0.3, "begins": 0.3},
    {"loading": 0.3, "begins": 0.3, "status": True},
    {"loading": 0.3, "says": True},
    {
        "asks": [
            ["workspace/configuration", {"items": [{"section": "toy"}, {}]}],
            ["workspace/unheard", {}],
            ["client/registerCapability", {}],
        ]
    },
]


async def loading(languages, script):
    """Have the table know that the scripted server reads the project first."""
    (server,) = await languages.servers_for(languages.sources.uri("a.py"))
    how = "status" if "status" in script else "progress"
    if "says" in script:
        server.row = replace(server.row, indexes="log")
    elif "loading" in script:
        server.row = replace(server.row, loads=how)


@pytest.mark.parametrize("script", WAYS, ids=str)
async def test_an_edit_that_breaks_a_caller_in_another_file_is_found_before_it_is_made(toys, script):
    async with toys(FILES, **script) as languages:
        await loading(languages, script)
        found = await verdict(languages, FILES["a.py"], "def cost\n\ndef other\n")
        assert messages(found.introduced) == ["price is not defined", "price is not defined"]
        assert {one.uri.rpartition("/")[2] for one in found.introduced} == {"b.py", "c.py"}
        assert not found.fixed
        # It was taken back: what is asked next is about the texts that are there.
        problems, late = await languages.problems([languages.sources.uri("b.py")], 5)
        assert (problems, late) == ([], [])


@pytest.mark.parametrize("script", [{}, {"status": True}, {"says": True}], ids=str)
async def test_who_asks_while_a_server_still_reads_the_project_waits_for_what_it_knows_then(toys, script):
    script = {**script, "loading": 0.3, "begins": 0.3}
    async with toys(FILES, **script) as languages:
        await loading(languages, script)
        uri = languages.sources.uri("a.py")
        answers = await languages.answers_for(uri, "textDocument/references")
        column = FILES["a.py"].index("price")
        found = await answers.places("textDocument/references", Spot(uri, 0, column))
        assert {one.spot.uri.rpartition("/")[2] for one in found} == {"a.py", "b.py", "c.py"}


SILENT = [
    {"diagnostics": "unversioned"},
    {"never": ["textDocument/diagnostic"]},
    {"diagnostics": "push", "stale": True},
    {"unchanged": True},
    {"never": ["textDocument/references"]},
    {"never": ["initialize"]},
    {"crash": "textDocument/diagnostic"},
    {"crash": "initialize"},
]


@pytest.mark.parametrize("script", SILENT, ids=str)
async def test_what_is_about_no_text_of_now_is_no_verdict(toys, script):
    async with toys({"a.py": "BAD1\n", "b.py": ""}, **script) as languages:
        began = time.monotonic()
        found = await verdict(languages, "BAD1\n", "BAD1 BAD2\n", seconds=0.5)
        assert found is None or "references" in str(script)
        assert time.monotonic() - began < 3
        problems, late = await languages.problems([languages.sources.uri("a.py")], 0.3)
        if "references" not in str(script):
            assert problems == []
            assert [one.partition(" ")[0] for one in late] == ["toy"]


async def test_an_edit_is_not_said_to_break_nothing_where_who_uses_it_is_not_known_in_time(toys):
    async with toys(FILES, never=["textDocument/references"]) as languages:
        assert await verdict(languages, FILES["a.py"], "def cost\n\ndef other\n", seconds=6.0) is None


async def test_a_server_that_crashes_is_started_again_three_times_and_then_given_up(toys, tmp_path):
    counter = tmp_path / "starts"
    async with toys(FILES, starts=str(counter), crash_until=99) as languages:
        uri = languages.sources.uri("a.py")
        for _ in range(6):
            said = await languages.answers_for(uri, "textDocument/definition")
            assert isinstance(said, Unknown)
        assert counter.read_text() == "4"
        assert "start 4 fails" in said.message
        (status,) = [one for one in await languages.status() if one.name == "toy"]
        assert (status.state, "start 4 fails" in status.detail) == ("failed", True)


async def test_a_server_that_crashes_in_the_middle_is_there_again_for_the_next_question(toys, tmp_path):
    async with toys(FILES, starts=str(tmp_path / "starts"), crash_until=1) as languages:
        uri = languages.sources.uri("b.py")
        assert isinstance(await languages.answers_for(uri, "textDocument/definition"), Unknown)
        answers = await languages.answers_for(uri, "textDocument/definition")
        (found,) = await answers.places("textDocument/definition", Spot(uri, 0, 4))
        assert (found.spot.line, found.line) == (0, "def price")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_every_position_encoding_finds_and_renames_the_same(toys, encoding):
    files = {"a.py": "def price\n", "b.py": "😀é use price 😀 use price\r\nuse price"}
    async with toys(files, encoding=encoding) as languages:
        uri = languages.sources.uri("b.py")
        answers = await languages.answers_for(uri, "textDocument/rename")
        (found,) = await answers.places("textDocument/definition", Spot(uri, 0, 9))
        assert found.spot.uri.endswith("a.py")
        changed = await answers.rename(Spot(uri, 0, 19), "cost")
        assert {one.uri.rpartition("/")[2]: one.after for one in changed} == {
            "a.py": "def cost\n",
            "b.py": "😀é use cost 😀 use cost\r\nuse cost",
        }


async def test_columns_beyond_the_line_mean_its_end(toys):
    async with toys(FILES, beyond=True) as languages:
        uri = languages.sources.uri("b.py")
        answers = await languages.answers_for(uri, "textDocument/references")
        found = await answers.places("textDocument/references", Spot(uri, 0, 4))
        assert {(one.spot.uri.rpartition("/")[2], one.spot.line) for one in found} == {
            ("a.py", 0),
            ("b.py", 0),
            ("c.py", 0),
        }
        assert all(one.spot.column <= len("use price") for one in found)


async def test_a_hundred_thousand_problems_hold_nobody_up(toys):
    async with toys({"a.py": "BAD1\n"}, flood=100_000) as languages:
        longest, ends = 0.0, asyncio.Event()

        async def watch():
            nonlocal longest
            while not ends.is_set():
                began = time.monotonic()
                await asyncio.sleep(0.005)
                longest = max(longest, time.monotonic() - began)

        watching = asyncio.create_task(watch())
        problems, late = await languages.problems([languages.sources.uri("a.py")], 30)
        ends.set()
        await watching
        assert late == []
        assert len(problems) == 10_000
        assert problems[0].message == "BAD1 is bad"
        assert longest < 1.0, "how long it really is, the benchmarks measure: here other tests run"


async def test_what_is_typed_is_seen_and_files_that_others_changed_are_told(toys, tmp_path):
    log = tmp_path / "log"
    async with toys(FILES, log=str(log)) as languages:
        uri = languages.sources.uri("b.py")
        assert (await languages.problems([uri], 5))[0] == []
        languages.sources.buffers["a.py"] = "def cost\n"
        assert messages((await languages.problems([uri], 5))[0]) == ["price is not defined"]
        del languages.sources.buffers["a.py"]
        assert (await languages.problems([uri], 5))[0] == []
        languages.changed_on_disk({str(tmp_path / "work" / "a.py"): 3, str(tmp_path / "elsewhere.py"): 2})
        await languages.problems([uri], 5)
        await until(lambda: told(log))
        assert told(log) == [{"a.py": 3}]


async def test_what_a_server_said_before_another_file_changed_is_not_said_again(toys):
    """Files around a change are shown anew to who keeps what it said of a version, also when a trial has been taken back."""
    async with toys(FILES, remembers=True) as languages:
        after, uri = "def cost\n\ndef other\n", languages.sources.uri("b.py")
        for _ in range(2):
            found = await verdict(languages, FILES["a.py"], after)
            assert messages(found.introduced) == ["price is not defined", "price is not defined"]
            assert (await languages.problems([uri], 5))[0] == []
        languages.sources.buffers["a.py"] = after
        assert messages((await languages.problems([uri], 5))[0]) == ["price is not defined"]


async def test_a_verdict_that_was_found_before_is_not_worked_out_again(toys, tmp_path):
    log = tmp_path / "log"
    async with toys(FILES, log=str(log)) as languages:
        after = "def cost\n\ndef other\n"
        await verdict(languages, FILES["a.py"], after)
        asked = log.read_text().count("textDocument/diagnostic")
        languages.sources.buffers["a.py"] = after
        found = await verdict(languages, FILES["a.py"], after, is_trial=False)
        assert messages(found.introduced) == ["price is not defined", "price is not defined"]
        assert log.read_text().count("textDocument/diagnostic") == asked
        await languages.problems([languages.sources.uri("a.py")], 5)
        assert log.read_text().count("textDocument/diagnostic") == asked


async def test_a_problem_that_only_moved_is_the_same_one(toys):
    async with toys({"a.py": "x\nBAD1\nBAD1\n"}) as languages:
        found = await verdict(languages, "x\nBAD1\nBAD1\n", "x\nnew\nBAD1\n\nBAD2\n")
        assert (messages(found.introduced), messages(found.fixed)) == (["BAD2 is bad"], ["BAD1 is bad"])


async def test_a_new_file_is_tried_and_gone_again(toys):
    async with toys(FILES) as languages:
        found = await verdict(languages, None, "use price\nuse nothing\n", name="new.py", lines=())
        assert messages(found.introduced) == ["nothing is not defined"]
        found = await verdict(languages, "use other", "use fresh", name="c.py")
        assert messages(found.introduced) == ["fresh is not defined"]


async def test_warnings_count_where_they_are_wanted(toys):
    async with toys({"a.py": "\n"}) as languages:
        assert messages((await verdict(languages, "\n", "ODD1 BAD1\n")).introduced) == ["BAD1 is bad"]
        found = await verdict(languages, "\n", "ODD2 BAD2\n", least="warning")
        assert [one.message for one in found.introduced] == ["BAD2 is bad", "ODD2 is bad"]


@pytest.mark.parametrize("how", ["edit", "resolve", "command"])
async def test_an_action_is_worked_out_and_not_done(toys, how):
    async with toys({"a.py": "BAD1 x\n"}, actions=how) as languages:
        uri = languages.sources.uri("a.py")
        ((offer, action, item),) = await languages.offered(uri, (0, 0), None)
        assert (action.title, action.kind, action.preferred) == ("Replace: BAD1 is bad", "quickfix", True)
        (changed,) = await languages.resolved(offer, item)
        assert (changed.before, changed.after) == ("BAD1 x\n", "good x\n")
        if how == "command":
            languages._is_confined = lambda: False
            assert isinstance(await languages.resolved(offer, item), Unknown)


async def test_a_cancel_takes_a_trial_back(toys, tmp_path):
    log = tmp_path / "log"
    async with toys(FILES, log=str(log), late=0.5) as languages:
        uri = languages.sources.uri("a.py")
        await languages.problems([uri], 5)
        check = await languages.judge([Touched(uri, FILES["a.py"], "BAD9\n", LINES)], is_trial=True)
        await until(lambda: "BAD9" in log.read_text())
        await check.end()
        assert (await languages.problems([uri], 5))[0] == []

        def shown():
            changes = (
                one["params"]
                for one in map(json.loads, log.read_text().splitlines())
                if one.get("method") == "textDocument/didChange"
            )
            return [one["contentChanges"][0]["text"] for one in changes if one["textDocument"]["uri"] == uri]

        # The server reads it after the answer that it is late with. The text that counts may be sent once more, to be judged anew.
        await until(lambda: [text for text, _ in groupby(shown())] == ["BAD9\n", FILES["a.py"]])
        await until(lambda: "$/cancelRequest" in log.read_text())


async def test_nothing_is_started_where_nobody_asks_and_none_in_a_folder_nobody_trusts(toys, tmp_path):
    async with toys(FILES, starts=str(tmp_path / "starts")) as languages:
        assert await languages.is_there()
        assert [one.state for one in await languages.status()] == ["available"]
        assert not (tmp_path / "starts").exists()

        class Distrusted(Folder):
            folders = ()

        languages.sources = Distrusted(tmp_path / "work")
        uri = (tmp_path / "work" / "a.py").as_uri()
        assert not await languages.is_there()
        said = await languages.answers_for(uri, "textDocument/hover")
        assert said.message == "language servers run in workspace folders only"
        languages.sources.untrusted = {tmp_path / "work": "undecided"}
        said = await languages.answers_for(uri, "textDocument/hover")
        assert said.message == f"no language server runs here: {HOW_TO_TRUST}"


async def test_an_idle_server_ends_and_one_that_takes_too_much_memory_too(toys, monkeypatch):
    monkeypatch.setattr("outrider.language.languages._LOOK_SECONDS", 0.02)
    async with toys(FILES) as languages:
        uri = languages.sources.uri("a.py")
        await languages.problems([uri], 5)
        (server,) = await languages.servers_for(uri)
        assert server.status().memory is None or server.status().memory > 1_000_000
        monkeypatch.setattr("outrider.language.languages.MOST_MEMORY", 1)
        await until(lambda: not server.is_up)
        assert "MB of memory" in server.status().detail
        monkeypatch.setattr("outrider.language.languages.MOST_MEMORY", 1 << 40)
        await languages.problems([uri], 5)
        assert server.is_up
        monkeypatch.setattr("outrider.language.languages.IDLE_SECONDS", 0.05)
        await until(lambda: not server.is_up)
        assert server.status().state == "available"


async def test_a_server_that_was_ended_by_us_is_not_counted_as_one_that_crashes(toys):
    async with toys(FILES) as languages:
        uri = languages.sources.uri("a.py")
        for _ in range(5):  # as it is ended when nobody asks
            assert not isinstance(await languages.answers_for(uri, "textDocument/definition"), Unknown)
            await languages.rest()
        await ends_by_itself(languages, uri)
        (status,) = await languages.status()
        assert status.state == "ended"
        assert not isinstance(await languages.answers_for(uri, "textDocument/definition"), Unknown)


async def ends_by_itself(languages, uri):
    (server,) = await languages.servers_for(uri)
    assert await server.ready() is None
    await server._process.kill(0)
    await until(lambda: not server.is_up)


async def test_ends_by_itself_are_forgotten_when_a_server_has_run_well_and_when_it_is_restarted(
    toys, monkeypatch
):
    async with toys(FILES) as languages:
        uri = languages.sources.uri("a.py")
        with monkeypatch.context() as patched:
            patched.setattr(server_module, "WELL_SECONDS", 0.0)
            for _ in range(5):
                await ends_by_itself(languages, uri)
        for _ in range(3):
            await ends_by_itself(languages, uri)
        (status,) = await languages.status()
        assert status.state == "failed"
        assert isinstance(await languages.answers_for(uri, "textDocument/definition"), Unknown)
        assert await languages.restart("toy")
        assert not isinstance(await languages.answers_for(uri, "textDocument/definition"), Unknown)
        assert not await languages.restart("another")


TIMINGS, SEARCHED = 201, 10_000
"""Random timings in the suite, and under `--hypothesis-profile=search`."""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("is_trial", [False, True], ids=["made", "tried"])
@pytest.mark.parametrize("way", ["pull", "push", "settling"])
async def test_promise_15_typing_at_any_moment_never_brings_a_verdict_about_text_that_is_gone(
    toys, way, is_trial
):
    """An edit is judged while somebody types in its file and in those that refer to it; each verdict fits the texts of its moment."""
    searches = settings.default.max_examples == settings.get_profile("search").max_examples
    count = (SEARCHED if searches else TIMINGS) // 6 + 1
    chance = random.Random(None if searches else 15)
    fresh = 0
    async with toys(FILES, diagnostics=way, late=0.002) as languages:
        sources = languages.sources
        sources.buffers.update(FILES)
        for number in range(count):
            before = f"def price\n# {number}\n"
            after = f"def cost\nBAD{number}\n"
            sources.buffers.update({"a.py": before, "b.py": "use price\n", "c.py": ""})
            check = await languages.judge(
                [Touched(sources.uri("a.py"), before, after, LINES)], is_trial=is_trial
            )
            sources.buffers["a.py"] = before if is_trial else after

            async def read(check=check, after=after):
                found = await check.within(5, languages.clock)
                return found, f"{after if is_trial else sources.buffers['a.py']} {sources.buffers['b.py']}"

            reading = asyncio.create_task(read())
            for _ in range(chance.randint(0, 2)):
                await asyncio.sleep(chance.uniform(0, 0.012))
                name = chance.choice(["a.py", "b.py"])
                sources.buffers[name] = (
                    sources.buffers[name]
                    .replace("def price", "def pricetyped")
                    .replace(f"BAD{number}", f"BADtyped{number}")
                    .replace("use price", "use cost")
                )
            found, texts = await reading
            if found is None:
                continue
            assert not is_trial or sources.buffers["a.py"] == before, (
                "it was about the text before it was typed in"
            )
            fresh += 1
            wanted = {word for word in texts.split() if word.startswith("BAD")}
            wanted |= {"price"} if "use price" in texts else set()
            assert {one.message.split()[0] for one in found.introduced} == wanted, number
    assert fresh > count // 4, "most are judged in time"


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6), st.text("ab😀\n\r", max_size=4)), max_size=5),
    st.text("ab😀é\n\r", max_size=20),
)
def test_edits_of_a_server_are_applied_as_lsp_says_or_not_at_all(given_edits, text):
    from outrider.language.answers import _applied

    begins = [0, *(end.end() for end in re.finditer(r"\r\n|\n|\r", text))]
    ends = [*(end.start() for end in re.finditer(r"\r\n|\n|\r", text)), len(text)]

    def offset(line, character):
        if line >= len(begins):
            return len(text)
        units = text[begins[line] : ends[line]].encode("utf-16-le")[: 2 * character]
        return begins[line] + len(units.decode("utf-16-le", "ignore"))

    edits = [
        {
            "range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": width}},
            "newText": new,
        }
        for line, width, new in given_edits
    ]
    after = _applied(text, edits, "utf-16")
    spans = sorted((offset(line, 0), offset(line, width)) for line, width, _ in given_edits)
    overlaps = any(end > start for (_, end), (start, _) in pairwise(spans))
    assert (after is None) == overlaps
    if after is not None:
        kept = len(text) - sum(end - start for start, end in spans)
        assert len(after) == kept + sum(len(new) for _, _, new in given_edits)


def test_the_table_is_short_and_names_its_tested_servers():
    from outrider.language.table import TABLE

    assert len(TABLE) <= 25
    assert {row.name for row in TABLE if row.tested} == {
        "basedpyright",
        "pyright",
        "ty",
        "ruff",
        "typescript-language-server",
        "clangd",
        "gopls",
        "rust-analyzer",
    }
    assert all(row.get for row in TABLE)
    assert server_module.MOST_ENDS == 4
    assert toy()["languages"] == ["python"]


def test_the_scripted_server_answers_about_a_place_without_a_name(tmp_path):
    """It looked for nothing at the end of each line for ever, and stayed behind when its editor had gone."""
    (tmp_path / "a.py").write_text("def one\n\n")
    server = LanguageServer({})
    server.root = tmp_path
    at = {"textDocument": {"uri": (tmp_path / "a.py").as_uri()}, "position": {"line": 1, "character": 0}}
    for method in ("textDocument/prepareCallHierarchy", "textDocument/references", "textDocument/definition"):
        assert not server.answer(method, at)
