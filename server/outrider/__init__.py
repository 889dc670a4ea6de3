"""Outrider: a coding agent behind the Language Server Protocol. `server/README.md` is the map of the rooms."""

__version__ = "0.2.0"
