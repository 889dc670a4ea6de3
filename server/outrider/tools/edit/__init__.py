"""The tools that change files, and what an edit goes through on its way."""
