"""Run the Spot the Ball task in the evaluation framework Inspect AI, and import Inspect's logs as responses."""
