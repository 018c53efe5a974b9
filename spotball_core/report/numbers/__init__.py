"""The numbers of a report's page: computed here, written to report.json, and rendered by `spotball_core.report`."""
