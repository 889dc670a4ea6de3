"""What an editor shows of Outrider: code actions, lenses, progress and diagnostics."""
