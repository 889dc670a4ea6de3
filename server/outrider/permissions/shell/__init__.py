"""A command line, read by a real grammar into the programs that it runs."""
