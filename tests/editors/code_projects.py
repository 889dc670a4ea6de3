"""Projects of a name that thirty files use, and the real language servers that know it."""

import sys
from pathlib import Path

HERE = Path(__file__).parents[1] / "language" / "node_modules" / ".bin"
BIN = Path(sys.executable).parent
FILES = 30

PROJECTS = {
    "python": (
        "ty",
        [str(BIN / "ty"), "server"],
        "tariff.py",
        "def price(hours: int) -> int:\n    return hours * 3\n",
        ("hours: int", "hours: str"),
        "use{n}.py",
        "from tariff import price\n\nTOTAL: int = price({n})\n",
        {},
    ),
    "typescript": (
        "typescript-language-server",
        [str(HERE / "typescript-language-server"), "--stdio"],
        "tariff.ts",
        "export function price(hours: number): number {\n  return hours * 3;\n}\n",
        ("hours: number", "hours: string"),
        "use{n}.ts",
        'import {{ price }} from "./tariff";\nexport const total: number = price({n});\n',
        {
            "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "esnext", "moduleResolution": "bundler", "types": []}}'
        },
    ),
}


def fill(folder, project):
    """Write the files of a project into a folder."""
    _, _, file, text, _, other, use, besides = project
    # What the editors' set-ups open first is there in every project.
    for path, content in {"tariff.py": "", **besides, file: text}.items():
        (folder / path).write_text(content)
    for number in range(FILES):
        (folder / other.format(n=number)).write_text(use.format(n=number))


def uses(folder, project):
    """What the files that use the name say, one after the other."""
    return [(folder / project[5].format(n=number)).read_text() for number in range(FILES)]


def used(project, name):
    """What they say when it is called so."""
    return [project[6].format(n=number).replace("price", name) for number in range(FILES)]


def rename(project, call):
    """What a model does that renames the function; the diagnostics wait until the server has read the project."""
    renamed = call("rename_symbol", symbol="price", new_name="cost")
    return [call("diagnostics", path=project[2]), renamed, {"text": "Renamed."}]


def breaking(project, call):
    """What a model does that breaks who calls the function: it is told so, and makes the same edit again."""
    edit = call("edit_file", path=project[2], old=project[4][0], new=project[4][1])
    return [call("diagnostics", path=project[2]), edit, edit, {"text": "Broken."}]
