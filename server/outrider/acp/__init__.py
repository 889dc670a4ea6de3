"""The Agent Client Protocol: Outrider as the agent of a client that speaks it. All of its code, and nothing of LSP."""
