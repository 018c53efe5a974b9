"""Leaderboards: many score reports on one page, ranked only where they are comparable."""
