"""Where in a text an edit or a patch belongs."""
