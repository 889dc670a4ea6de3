"""The way from one Outrider to another one of the same user and log, over local sockets. It knows nothing of what is said there."""
