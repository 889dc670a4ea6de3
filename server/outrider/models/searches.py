"""What a provider did on the web for a model, as its answer says: it goes back to the model word for word, and is shown to the user.

Source: "Web search tool" of the Anthropic API reference; "Web search" of the OpenAI API reference (the item `web_search_call`);
"Grounding with Google Search" of the Gemini API reference.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from outrider.models.http.payload import mapping, mappings, string
from outrider.ports.model import ProviderData
from outrider.ports.text import visible
from outrider_protocol import logged

SEARCH: Final = "web_search"
"""What providers call it, and rules."""
GROUNDING: Final = "groundingMetadata"
"""Where Google says what it searched for and found."""
MOST: Final = 20
"""Searches of an answer, and pages of a search, that are told."""
_LONGEST: Final = 500


@dataclass(frozen=True, slots=True)
class Search:
    """One search, or one page that was opened."""

    query: str | None
    pages: tuple[tuple[str, str | None], ...] = ()
    """Address and title of each."""
    problem: str | None = None


def searches_of(data: ProviderData | None) -> list[Search]:
    """What is told of searches in what a model wants back. Each text is a stranger's: shortened, and with nothing that hides."""
    if data is None or not any(one in data.blocks for one in (SEARCH, GROUNDING)):
        return []
    try:
        listed = json.loads(data.blocks)
    except (ValueError, RecursionError):
        return []
    blocks = [cast("dict[str, Any]", one) for one in listed if isinstance(one, dict)]
    results = {
        string(block.get("tool_use_id")): block.get("content")
        for block in blocks
        if block.get("type") == f"{SEARCH}_tool_result"
    }
    found: list[Search] = []
    for block in blocks:
        if GROUNDING in block:
            found += _of_gemini(mapping(block[GROUNDING]))
        elif block.get("type") == "server_tool_use" and block.get("name") == SEARCH:
            found.append(_of_anthropic(block, results.get(string(block.get("id")))))
        elif block.get("type") == f"{SEARCH}_call":
            found += _of_openai(mapping(block.get("action")), string(block.get("status")))
    return found[:MOST]


def searches_in_words(data: logged.ModelResponded) -> list[str]:
    """What a provider did on the web for an answer, a line for each."""
    lines: list[str] = []
    for one in data.get("searches", []):
        query, pages = one.get("query"), one["pages"]
        did = (
            f"searched the web for “{query}”"
            if query
            else f"opened {pages[0]['url']}"
            if pages
            else "searched the web"
        )
        found = ", ".join(page["url"] for page in pages) if query else ""
        problem = f" (failed: {one['problem']})" if "problem" in one else ""
        lines.append(f"{did}{f': {found}' if found else ''}{problem}")
    return lines


def _of_anthropic(block: Mapping[str, Any], content: object) -> Search:
    query = _shown(mapping(block.get("input")).get("query"))
    if isinstance(content, dict):
        return Search(query, problem=_shown(cast("dict[str, Any]", content).get("error_code")) or "failed")
    return Search(query, tuple(_pages(content)))


def _of_openai(action: Mapping[str, Any], status: str) -> Iterator[Search]:
    problem = "failed" if status == "failed" else None
    if (url := _shown(action.get("url"))) is not None:
        yield Search(None, ((url, None),), problem)
        return
    queries = action.get("queries")
    listed = cast("list[object]", queries) if isinstance(queries, list) and queries else [action.get("query")]
    pages = tuple(_pages(action.get("sources")))
    for number, query in enumerate(listed):
        yield Search(_shown(query), pages if number == 0 else (), problem)


def _of_gemini(said: Mapping[str, Any]) -> Iterator[Search]:
    queries = said.get("webSearchQueries")
    listed = cast("list[object]", queries) if isinstance(queries, list) and queries else [None]
    pages = tuple(_pages([mapping(one.get("web")) for one in mappings(said.get("groundingChunks"))]))
    for number, query in enumerate(listed):
        yield Search(_shown(query), pages if number == 0 else ())


def _pages(listed: object) -> Iterator[tuple[str, str | None]]:
    for one in mappings(listed)[:MOST]:
        if (url := _shown(one.get("url") or one.get("uri"))) is not None:
            yield url, _shown(one.get("title"))


def _shown(text: object) -> str | None:
    return visible(" ".join(string(text).split())[:_LONGEST]) or None
