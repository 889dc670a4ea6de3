"""What a session changed, and what became of it: the journal, each line that ever was, and the net change as a patch."""
