"""Web server of a study."""
