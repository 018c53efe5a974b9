"""The dataset that a generation writes: scenes, card, statistics and exports."""
