"""YOLO detectors: what an image becomes before them, and what their output says."""
