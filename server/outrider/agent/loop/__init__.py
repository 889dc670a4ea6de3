"""The agent loop: a turn, its calls of the model, what its tools reach, and its way back after a crash."""
