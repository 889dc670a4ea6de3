"""How messages come and go: standard input and output, TCP, frames, and the log of the server."""
