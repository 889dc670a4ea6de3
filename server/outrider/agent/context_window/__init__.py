"""What of a conversation goes to the model: how long it is, what is left out of it, and what stands for that."""
