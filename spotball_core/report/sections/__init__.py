"""The sections of a score report's page."""
