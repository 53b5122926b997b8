"""Whether a difference could be chance."""


def sign_test(ups: int, downs: int) -> float | None:
    """Two-sided and exact: of `ups + downs` throws of a fair coin, how often the split is at least this uneven; None
    where nothing was thrown."""
    thrown, fewer = ups + downs, min(ups, downs)
    if not thrown:
        return None
    ways = way = 1
    for k in range(fewer):
        way = way * (thrown - k) // (k + 1)
        ways += way
    return min(1.0, 2 * ways / 2**thrown)
