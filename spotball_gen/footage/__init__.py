"""Read video files: frames with their time stamps, and where shots begin."""
