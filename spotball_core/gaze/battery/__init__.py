"""The battery: what tests say about how a respondent finds out where somebody looks."""
