"""Built-in kinds of stages, one per module: `STAGE_KIND.py`."""
