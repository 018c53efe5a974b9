"""Score predicted gaze points on benchmarks whose annotations are continuous, such as GazeFollow."""
