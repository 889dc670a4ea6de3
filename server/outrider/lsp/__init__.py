"""All that knows pygls and lsprotocol; nothing else does."""
