"""Neural networks: load them, prepare their input, read their output."""
