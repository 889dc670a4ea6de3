"""`outrider chat`: a conversation in the terminal, a client of the server like any other."""
