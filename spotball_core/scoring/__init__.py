"""Score counts: form groups, estimate metrics with intervals, compute the noise ceiling, and write the score report."""
