"""Requests to providers: retries, keys, streams and what can go wrong."""
