"""Make synthetic scenes, images, poses and respondents, so that the software can be tried without data."""
