"""The task document: a conversation with the agent as Markdown, for clients that have documents and code actions alone."""
