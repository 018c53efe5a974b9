"""The Spot the Ball task for Inspect AI, and the import of its logs."""
