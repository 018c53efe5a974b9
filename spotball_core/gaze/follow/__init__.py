"""Other gaze benchmarks: continuous annotations of where somebody looks, as in GazeFollow."""
