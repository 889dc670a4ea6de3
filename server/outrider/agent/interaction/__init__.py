"""What waits for the user: approvals, questions, and the documents that show them."""
