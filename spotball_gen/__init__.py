"""Generate new, labeled items from video."""
