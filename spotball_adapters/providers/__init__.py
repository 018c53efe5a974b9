"""Where a model's answers come from: one small protocol, and a module for each way to reach a model."""
