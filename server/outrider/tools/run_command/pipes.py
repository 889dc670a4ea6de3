"""The exit code of a pipe: that of the last stage that failed, and not only that of the last stage.

A stage before the last that ends because nobody reads from it any more has not failed: `yes | head -1` succeeds. Bash has
no such rule (`pipefail` counts SIGPIPE as a failure), so each pipe is put into braces, with a function behind it that
works out its status. Where it cannot be known for certain where a pipe begins and ends, bash's own rule holds.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from outrider.permissions.shell.tree import below, tree_of

if TYPE_CHECKING:
    from tree_sitter import Node

CODES_OF_PIPE: Final = "[exit codes in the pipe: "
"""How the line begins that tells of them."""
_STATUS: Final = (
    '__pipe() { local code last="${!#}" status=0; '
    'for code in "${@:1:$#-1}"; do case $code in 0|141) ;; *) status=$code;; esac; done; '
    '[ "$last" = 0 ] || status=$last; __failed=$status; '
    '__codes=; for code; do [ "$code" = "$last" ] || __codes="$*"; done; return $status; }; '
)
"""Gives the status of a pipe whose codes it gets, and keeps them where they differ."""
_TELL: Final = (
    '[ "$status" = 0 ] || [ "$status" != "${__failed-}" ] || [ -z "${__codes-}" ] || '
    f'printf "\\n{CODES_OF_PIPE}%s]\\n" "${{__codes// / | }}"; '
)
_AT_END: Final = (
    # Only if the pipe was the last that ran: its function returned.
    'trap \'status=$?; case $BASH_COMMAND in "return "*) ;; *) __codes=;; esac; ' + _TELL + "' EXIT; "
)
_BY_BASH: Final = (
    'set -o pipefail; trap \'status=$? __all=("${PIPESTATUS[@]}"); __pipe "${__all[@]}"; __code=$?; '
    "[ ${#__all[@]} -gt 1 ] && [ $status = 141 ] && status=$__code; " + _TELL + "exit $status' EXIT; "
)
_OWN_RULE: Final = ("PIPESTATUS", "pipefail")
"""Who names these has a rule of their own."""
_OPEN: Final = b"{ "
_CLOSE: Final = b'; __pipe "${PIPESTATUS[@]}"; }'


def with_status_of_pipes(text: str) -> str:
    """A command line whose pipes have the exit code of what failed in them; blocks for a moment.

    At its end it prints the exit codes of the stages, where the last pipe failed and they differ.

    Args:
        text: The command line; one without a pipe is given back as it is.
    """
    if "|" not in text or any(name in text for name in _OWN_RULE):
        return text
    source = text.encode("utf-8", "surrogatepass")
    root = tree_of(source)
    found = list(_pipes(root))
    if not found and not root.has_error and b"<<" not in source:
        return text
    # What is redirected with `exec` would get the last line, too.
    at_end = "" if "exec" in text else _AT_END
    if root.has_error or b"<<" in source or any(not _is_plain(one) for one in found):
        return f"{_STATUS}{_BY_BASH}{text}" if at_end else text
    for one in reversed(found):
        inner = source[one.start_byte : one.end_byte]
        source = source[: one.start_byte] + _OPEN + inner + _CLOSE + source[one.end_byte :]
    return f"{_STATUS}{at_end}{source.decode('utf-8', 'surrogatepass')}"


def _pipes(root: "Node") -> Iterator["Node"]:
    """The outermost pipes, each with what redirects its last stage; those in the background are not waited for."""
    for node in below(root, "pipeline"):
        whole = node
        while (outer := whole.parent) is not None and outer.type == "redirected_statement":
            whole = outer
        behind = whole.next_sibling
        if behind is None or behind.type != "&":
            yield whole


def _is_plain(pipe: "Node") -> bool:
    """Whether it is a pipe and no more: `!` and `time` before it are about the whole."""
    first = (pipe.text or b"!").split(None, 1)[0]
    return first not in {b"!", b"time"}
