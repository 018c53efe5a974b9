"""Estimate the poses of players whose boxes are known: from a file of keypoints, or with a model."""
