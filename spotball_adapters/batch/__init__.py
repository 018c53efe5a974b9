"""Batches: write requests to files, and import the replies from files, independent of how they are sent."""
