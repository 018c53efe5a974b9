"""The kinds of stages that come with the package, one a module: `STAGE_KIND.py`."""
