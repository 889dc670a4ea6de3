"""What changed on disk, and what the model has seen of it."""
