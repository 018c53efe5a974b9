"""Compute the numbers of a report's page, which are written to report.json and rendered by `spotball_core.report`."""
