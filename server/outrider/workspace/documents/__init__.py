"""The open documents, and the texts of the workspace with them over the disk."""
