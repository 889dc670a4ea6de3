"""The receipt, as the machine at the exit prints it."""

from parking.tariff import fee


def receipt(plate: str, minutes: int) -> str:
    """The receipt for one stay."""
    hours, rest = divmod(minutes, 60)
    euros, cents = divmod(fee(minutes), 100)
    return f"{plate}  {hours} h {rest:02} min  EUR {euros}.{cents:02}"
