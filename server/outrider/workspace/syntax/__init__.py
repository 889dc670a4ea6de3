"""Syntax errors of texts: `child` finds them in a process of its own, `syntax` asks it which of them an edit brought."""
