"""What a stay in the car park costs, and the receipt for it."""
