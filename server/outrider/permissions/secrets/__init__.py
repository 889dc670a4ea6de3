"""Which text is a secret, and masking it."""
