"""Build Spot the Ball datasets from video: images with the ball inpainted, and labels of the ball and the players."""
