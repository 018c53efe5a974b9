"""Simulate participants to test a study before people take part: their behavior, and their requests to its server."""
