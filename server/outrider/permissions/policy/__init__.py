"""What may happen: rules, protected files, trust, and the decision."""
