"""Turns HTML into Markdown, in a process of its own: a page is foreign text, and its parser may take long. See `workspace/child.py`."""

import json
import socket
from typing import Any, Final

_LEFT_OUT: Final = (
    "script",
    "style",
    "noscript",
    "template",
    "svg",
    "iframe",
    "nav",
    "footer",
    "form",
    "button",
    "head",
)


def main() -> None:
    """Answer requests as long as somebody asks."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    with socket.socket(fileno=0) as line, line.makefile("rwb") as file:
        for request in file:
            asked: dict[str, Any] = json.loads(request)
            page: Any = BeautifulSoup(asked["html"], "html.parser")
            title = page.title.get_text(" ", strip=True) if page.title is not None else ""
            for part in page(list(_LEFT_OUT)):
                part.decompose()
            body = page.find("main") or page.find("article") or page.body or page
            converter: Any = MarkdownConverter(heading_style="ATX", bullets="-", strip=["img"])
            text = str(converter.convert_soup(body))
            answer = {"id": asked["id"], "title": title, "text": text}
            file.write(json.dumps(answer).encode() + b"\n")
            file.flush()


if __name__ == "__main__":
    main()
