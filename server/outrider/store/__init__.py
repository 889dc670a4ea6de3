"""The event log and the blobs: SQLite, one writer thread, one lock per session.

Only `listing` knows some events by their meaning; to the rest an event is a row.
"""
