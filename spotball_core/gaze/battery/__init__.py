"""Run the battery of tests on how a respondent decides where the person in a photo looks."""
