"""The tools that know the code, by language servers: where names are defined and used, and edits that follow them."""
