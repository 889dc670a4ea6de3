"""The event log and the blobs: SQLite, one writer thread, one lock per session. Knows no event by its meaning."""
