"""Statistics over per-image figures: intervals, comparisons, the noise ceiling, mixtures, thresholds."""
