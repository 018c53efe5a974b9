"""Score counts: groups, estimates with confidence intervals, the noise ceiling, and the score report."""
