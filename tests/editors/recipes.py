"""The recipes of `editors/README.md`, word for word: what a test tries is what a user copies."""

from neovim_driver import HOUSE

PAGE = HOUSE / "editors" / "README.md"


def recipe(heading, changes):
    """The recipe under a heading, with what a test has to have in another way: each text of `changes` once."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    text = section.partition("```")[2].partition("\n")[2].partition("```")[0]
    for said, wanted in changes.items():
        assert text.count(said) == 1, f"{said} in the recipe for {heading}:\n{text}"
        text = text.replace(said, wanted)
    return text
