"""Texts: encodings, differences, merging, and finding what an edit names."""
