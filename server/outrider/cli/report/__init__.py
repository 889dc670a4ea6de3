"""The command `report`: a session as one page for a browser. A model of it, words for it, and its rendering."""
