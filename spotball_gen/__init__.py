"""Where items come from: from video to new, labelled images."""
