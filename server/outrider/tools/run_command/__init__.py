"""The tools that run commands: what a command may do, and what it did."""
