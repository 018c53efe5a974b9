"""Statistics over per-image values: bootstrap intervals, permutation tests, ranks."""
