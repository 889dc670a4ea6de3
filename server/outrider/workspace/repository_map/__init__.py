"""The repository map: which names the workspace's files define, the ones first that matter for the files at hand.

A child process reads the files (`child`, and what it imports: `index`, `cache`, `tags`); the server only starts it, talks to it
and never waits for it (`repository_map`). `graph` and `rendering` are pure.
"""
