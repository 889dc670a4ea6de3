"""The client of MCP servers: how they are configured, started, asked and ended. It decides nothing: that is the executor's.

The SDK is imported by `session.py` alone, in a thread, and only where a server is configured.
"""
