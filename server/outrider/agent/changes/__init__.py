"""What the agent changed: listing it, following renames, and taking it back."""
