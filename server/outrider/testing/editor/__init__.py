"""The fake editor: what a client is to the server, message by message, and what its user says."""
