"""The tests of the car park."""
