"""`outrider`, and `python -m outrider`: dispatches `serve` before anything of the command line is imported."""

import gc
import importlib
import sys


def main() -> None:
    """Run the command that `sys.argv` names, and exit with its code."""
    if sys.argv[1:2] == ["serve"]:
        importlib.import_module("pygls.lsp.server")
        # It stays for good, and is so large that the collector's walks over it would be felt up to `initialize`.
        gc.freeze()
        from outrider.lsp.serve import main as serve

        sys.exit(serve(sys.argv[2:]))
    from outrider.cli.main import main as command_line

    sys.exit(command_line(sys.argv[1:]))


if __name__ == "__main__":
    main()
