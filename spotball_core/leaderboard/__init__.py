"""Build leaderboards: many score reports on one page, ranked only if they are comparable."""
