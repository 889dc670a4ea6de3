"""What is known of each model, and which of several gets a request. `choose` and `score` decide; they ask nobody."""
