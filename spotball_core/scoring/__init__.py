"""From counts to scores: groups, estimates with intervals, the noise ceiling and the score report."""
