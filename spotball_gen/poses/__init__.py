"""Estimate the poses of players with known boxes, from a file of keypoints or with a model."""
