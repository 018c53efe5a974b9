"""Find and download videos."""
