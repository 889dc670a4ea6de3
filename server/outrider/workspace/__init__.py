"""The folders as the person sees them: open buffers over the disk, edits, journal, search."""
