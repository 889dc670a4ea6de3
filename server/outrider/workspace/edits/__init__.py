"""Changing files: through the editor or on disk, and making sure of what came of it."""
