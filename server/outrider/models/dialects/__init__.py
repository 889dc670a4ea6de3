"""One module for each way in which providers speak: what is sent, and how an answer is read."""
