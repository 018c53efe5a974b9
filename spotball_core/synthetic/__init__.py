"""Make synthetic scenes, pictures, poses and respondents, to try the software without data."""
