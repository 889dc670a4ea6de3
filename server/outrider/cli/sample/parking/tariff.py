"""The tariff: free at first, then by the started hour, with a limit for each day."""

FREE_MINUTES = 15
CENTS_PER_HOUR = 250
CENTS_PER_DAY = 2000
MINUTES_PER_DAY = 24 * 60


def fee(minutes: int) -> int:
    """What a stay of `minutes` costs, in cents."""
    if minutes < 0:
        raise ValueError(f"a stay cannot last {minutes} minutes")
    if minutes <= FREE_MINUTES:
        return 0
    days, rest = divmod(minutes, MINUTES_PER_DAY)
    return days * CENTS_PER_DAY + min(_started_hours(rest) * CENTS_PER_HOUR, CENTS_PER_DAY)


def _started_hours(minutes: int) -> int:
    return minutes // 60 + 1
