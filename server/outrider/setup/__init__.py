"""From nothing to a model that answers: which providers there are, a trial, and the user's settings file."""
