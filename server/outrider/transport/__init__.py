"""A process as a connection: standard input and output, what ends it, its log, and live text on its way out."""
