"""`outrider permissions` and `outrider trust`."""
