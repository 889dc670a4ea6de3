"""What programs do, by their arguments: which only read, and which rules fit them."""
