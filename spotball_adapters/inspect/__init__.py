"""Run the Spot the Ball task in Inspect AI, and import its logs."""
