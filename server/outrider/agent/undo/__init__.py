"""Taking changes of a session back: what of them is in the files, what goes, what stays, and what the person is asked."""
