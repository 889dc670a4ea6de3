"""A fake client of the Agent Client Protocol, with what real ones are known to do."""
