"""Where a piece of an edit belongs in a text that may not have it exactly as it was written. Pure."""
