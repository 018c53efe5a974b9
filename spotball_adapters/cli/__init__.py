"""The commands of spotball_adapters."""
