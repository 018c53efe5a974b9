"""Fill the pixels that a ball hides: from neighboring frames of the video, or from a similar place in the same
image.
"""
