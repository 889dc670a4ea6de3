"""Answers to commands that run no turn."""
