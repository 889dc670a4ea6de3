"""Sessions: which there are, and what one does with its turns."""
