"""Statistics over per-image figures: intervals now."""
