"""Fit the cue model, which describes how much a respondent follows the eyes and how much the head."""
