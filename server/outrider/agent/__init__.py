"""The heart: sessions, turns, the inbox, the prompt. Knows no editor, no provider and no wire."""
