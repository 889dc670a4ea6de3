"""The folders as the user sees them: open buffers over the disk, edits, journal, search."""
