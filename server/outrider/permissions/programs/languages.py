"""Programs in small languages: `sed`, `awk` and `jq`, whose text says whether they only show something.

Each text is held against a part of its language that can neither write, nor run, nor open anything. Where versions of the
program read a text in different ways, it counts as one that is not known.
"""

import re
from collections.abc import Sequence
from typing import Final

from outrider.permissions.programs.options import Options, Reads, names, read_options
from outrider.permissions.shell.model import Word

# --- sed -------------------------------------------------------------------------------------------------------

_SED: Final = Options(
    "nErsuz", "e", names("quiet silent regexp-extended separate unbuffered null-data expression posix"),
    names("expression"), patterns=names("-e --expression"), operands="paths",
)  # fmt: skip
_ADDRESS: Final = r"(?:\d+(?:~\d+)?|\$|/(?:[^\[\\/\n]|\\[^\n]|\[\^?[^]\\/\n]+\])*/I?)"
_BETWEEN: Final = r"(?:(?!(?P=sign))[^\[\\\n]|\\[^\n]|\[\^?(?:(?!(?P=sign))[^]\\\n])+\])*"
_REPLACED: Final = r"(?:(?!(?P=sign))[^\\\n]|\\[^\n])*"
_SED_COMMAND: Final = re.compile(
    rf"[\s;]*(?:{_ADDRESS}(?:,[+~]?(?:{_ADDRESS}))?)?[ \t]*!?[ \t]*"
    rf"(?:\{{|(?:[pdPDnNgGhHxl=}}]|[qQ]\d*|s(?P<sign>[/|#,@:%!_]){_BETWEEN}(?P=sign){_REPLACED}(?P=sign)[gpiI0-9]*)[ \t]*(?=[;\n}}]|\Z))"
)
"""A command that stays within the text. A bracket that holds the sign of the end is where versions of `sed` differ."""


def sed(arguments: Sequence[Word]) -> Reads | str:
    """`sed` that shows lines: its script neither writes a file, nor runs or reads one."""
    scripts: list[Word] = []
    words = list(arguments)
    for number, word in enumerate(words):
        text = word.text or ""
        if text in {"-e", "--expression"} and number + 1 < len(words):
            scripts.append(words[number + 1])
        elif text.startswith("--expression="):
            scripts.append(Word(text, text.partition("=")[2]))
        elif text.startswith("-") and not text.startswith("--") and text.find("e") > 0:
            if text[-1] != "e" or number + 1 >= len(words):
                return f"{text} is not known to only read"
            scripts.append(words[number + 1])
    reads = read_options(_SED, words)
    if isinstance(reads, str):
        return reads
    paths = reads.paths
    if scripts and not (words[0].text or "").startswith("-"):
        return (
            f"{words[0].source} may be the script"  # to a sed that sees no options behind its first operand
        )
    if not scripts:
        scripts, paths = list(paths[:1]), paths[1:]
    if not all(word.text is not None and _only_shows(word.text) for word in scripts) or not scripts:
        return "the script of sed may write or run something"
    return Reads(paths)


def _only_shows(script: str) -> bool:
    at, rest = 0, script.rstrip(" \t\n;")
    while at < len(rest):
        match = _SED_COMMAND.match(rest, at)
        if match is None:
            return False
        at = match.end()
    return bool(rest.strip())


# --- awk -------------------------------------------------------------------------------------------------------

AWKS: Final = names("awk gawk mawk nawk")
_AWK: Final = Options("", "Fv", operands="pattern")
_AWK_SIGN: Final = re.compile(
    r"""[ \t]*(?:(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<name>[A-Za-z_]\w*)|(?P<number>\d+(?:\.\d*)?|\.\d+)"""
    r"""|(?P<other>\|\||&&|>=|[-+*%^!<=]=|\+\+|--|!~|[{}()\[\];,\n?:+*%^!<>=~$-]|/))"""
)
_AWK_REGEX: Final = re.compile(r"(?:[^/\\\n\[]|\\.|\[\^?(?:[^][/\\\n]|\[:[a-z]+:\])+\])*/")
"""The rest of a regular expression. Brackets that hold a slash are where versions of `awk` differ."""
_AWK_REACHES: Final = names("system getline ENVIRON PROCINFO SYMTAB FUNCTAB ARGV ARGC ARGIND extension")
"""What runs, opens or tells something that is no operand of the program."""
_AWK_WORDS: Final = names(
    "print printf return in if else while for do exit next delete case switch func function length BEGIN END"
)
_AWK_BEFORE_REGEX: Final = frozenset({"", "(", ",", "~", "!~", "!", "&&", "||", "{", "}", ";", "\n"})


def awk(arguments: Sequence[Word]) -> Reads | str:
    """`awk` that prints: its program sends nothing into a file or a program, and opens nothing but its operands."""
    reads = read_options(_AWK, arguments)
    if isinstance(reads, str):
        return reads
    rest = list(arguments)
    while rest and (rest[0].text or "").startswith("-"):
        option = rest.pop(0).text or ""
        if option == "--":
            break
        if option in {"-F", "-v"} and rest:
            rest.pop(0)
    program = rest[0].text if rest else None
    if program is None or not _only_prints(program):
        return "the program of awk may write or run something"
    return reads


def _only_prints(program: str) -> bool:
    at, before, prints = 0, "", False
    end = len(program.rstrip())
    while at < end:
        match = _AWK_SIGN.match(program, at)
        if match is None:
            return False
        at, sign = match.end(), match[match.lastgroup or 0]
        if sign == "/":
            if before in _AWK_BEFORE_REGEX:
                regex = _AWK_REGEX.match(program, at)
                if regex is None:
                    return False
                at, sign = regex.end(), '"'
            elif before not in {"0", "a", "]"}:
                return False  # it may begin a regular expression, or divide
        elif match["name"]:
            if sign in _AWK_REACHES:
                return False
            prints = prints or sign in {"print", "printf"}
            sign = sign if sign in _AWK_WORDS else "a"
        elif match["number"]:
            sign = "0"
        elif match["text"]:
            sign = '"'
        elif sign in {"{", "}", ";"}:
            prints = False
        elif sign == ">" and (prints or program.startswith(">", at)):
            return False  # into a file
        before = sign
    return True


# --- jq --------------------------------------------------------------------------------------------------------

_JQ: Final = Options(
    "aceCjMnrRsS", "", names("compact-output raw-output raw-input null-input slurp sort-keys monochrome-output color-output join-output ascii-output tab exit-status")
)  # fmt: skip
_JQ_REACHES: Final = re.compile(
    r"(?<!(?<![.\d])\.)\b(?:\$?env|ENV|import|include|inputs?|input_filename|modulemeta|get_search_list|__prog_args)\b"
)
"""What reaches further, unless it stands behind a dot as a key; behind two of them, or a number's, it is none."""


def jq(arguments: Sequence[Word]) -> Reads | str:
    """`jq`, unless its filter names the environment, or further files."""
    given, rest = list[Word](), list(arguments)
    while rest:
        word = rest.pop(0)
        if word.text == "--":  # what follows are files, whatever they are called
            given += [word, *rest]
            break
        if word.text in {"--arg", "--argjson"} and len(rest) > 1 and rest[0].is_one and rest[1].is_one:
            del rest[:2]
        else:
            given.append(word)
    reads = read_options(_JQ, given)
    if isinstance(reads, str) or not reads.paths:
        return reads
    text = reads.paths[0].text
    if text is None or _JQ_REACHES.search(text):
        return "the filter of jq is not known to only read"
    return Reads(reads.paths[1:])
