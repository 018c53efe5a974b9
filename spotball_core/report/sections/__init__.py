"""Write the sections of a score report's page."""
