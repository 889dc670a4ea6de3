"""What the model is told: the first messages, news of the workspace, and what fits into its window."""
