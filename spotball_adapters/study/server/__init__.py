"""Run the web server of a study."""
