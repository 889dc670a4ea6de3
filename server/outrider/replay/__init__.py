"""A session run again from its log: the real sessions, turns, permissions and budgets, and a world that is only recorded.

No model is asked, no command is run and no file of a workspace is read or written. `play` is the way in.
"""
