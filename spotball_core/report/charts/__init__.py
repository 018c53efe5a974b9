"""Draw the charts that only a score report's page has."""
