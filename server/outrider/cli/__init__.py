"""The command line. `run` and `demo` are real LSP clients."""
