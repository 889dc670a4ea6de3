"""Test agents without a model or an editor: a fake editor, client profiles, scenarios."""
