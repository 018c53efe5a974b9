"""Ask models: the plan, the runner, limits, and the store of replies."""
