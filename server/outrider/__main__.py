"""`outrider`, and `python -m outrider`: runs `serve`, `acp` and `--version` before anything of the command line is imported."""

import sys
from typing import NoReturn

from outrider import __version__


def main() -> None:
    """Run the command that `sys.argv` names, and exit with its code."""
    if sys.argv[1:2] == ["serve"]:
        _serve(sys.argv[2:])
    if sys.argv[1:2] == ["acp"]:
        _acp(sys.argv[2:])
    if sys.argv[1:] == ["--version"]:
        try:
            print(f"outrider {__version__}", flush=True)  # noqa: T201 - this is the command line
            return
        except BrokenPipeError:
            pass  # `cli.main` ends the process as every command ends then
    from outrider.late_dataclasses import compile_methods_late

    compile_methods_late()
    from outrider.cli.main import main as command_line

    sys.exit(command_line(sys.argv[1:]))


def _serve(argv: list[str]) -> NoReturn:
    from outrider.lsp.options import parse

    options = parse(argv)
    start = None
    if options.tcp is None:
        from outrider.lsp import early

        start = early.start(options.client)

    import gc

    # What is imported stays for good: the collector's walks over it took a fifth of the start.
    gc.disable()
    from outrider.late_dataclasses import compile_methods_late

    compile_methods_late()
    from outrider.lsp.late_types import import_pygls

    import_pygls()
    from outrider.lsp.serve import main as serve

    gc.freeze()
    gc.enable()
    serve(argv, start=start)


def _acp(argv: list[str]) -> NoReturn:
    from outrider.acp.serve import main as serve
    from outrider.acp.serve import parse

    options = parse(argv)
    from outrider.acp import early

    serve(options, early.start())


if __name__ == "__main__":
    main()
