"""Score other gaze benchmarks with continuous annotations of gaze points, such as GazeFollow."""
