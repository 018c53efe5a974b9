"""Neural networks: load them, prepare their input, and read their output."""
