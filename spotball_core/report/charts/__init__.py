"""Charts that only a score report's page has."""
