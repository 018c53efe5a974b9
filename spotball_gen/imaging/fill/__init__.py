"""Fill the pixels that a ball hid: from neighboring frames of the video, or from a similar place of the same image."""
