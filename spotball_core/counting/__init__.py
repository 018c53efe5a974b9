"""Count responses: how often each respondent named each cell of each image."""
