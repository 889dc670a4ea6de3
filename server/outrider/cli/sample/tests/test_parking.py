"""What customers are promised on the board at the entrance."""

import unittest

from parking.receipt import receipt
from parking.tariff import CENTS_PER_DAY, fee


class Tariff(unittest.TestCase):
    """Prices."""

    def test_a_short_stop_is_free(self) -> None:
        self.assertEqual(fee(15), 0)

    def test_a_started_hour_counts_as_a_whole_one(self) -> None:
        self.assertEqual(fee(61), 500)

    def test_a_full_hour_is_one_hour(self) -> None:
        self.assertEqual(fee(60), 250)

    def test_a_long_day_costs_no_more_than_the_limit(self) -> None:
        self.assertEqual(fee(23 * 60), CENTS_PER_DAY)

    def test_a_stay_cannot_be_negative(self) -> None:
        with self.assertRaises(ValueError):
            fee(-1)


class Receipt(unittest.TestCase):
    """Print-outs."""

    def test_the_receipt_names_plate_time_and_price(self) -> None:
        self.assertEqual(receipt("B-OR 123", 95), "B-OR 123  1 h 35 min  EUR 5.00")
