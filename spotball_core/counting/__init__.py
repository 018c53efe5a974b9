"""From files of responses to counts: how often each respondent named each cell of each image."""
