"""The state of a session, folded from its events, and the log that they are appended to."""
