"""A session run again from its log: everything is real but the ports, which answer from the log.

No model is asked, no command is run, and no file of a workspace is read or written. `play` is the way in.
"""
