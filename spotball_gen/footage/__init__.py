"""Read video files: frames with time stamps, and shot boundaries."""
