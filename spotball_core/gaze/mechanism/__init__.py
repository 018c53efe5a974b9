"""Fit the cue model: how a respondent combines eyes and head, with uncertainty and a check of the fit."""
