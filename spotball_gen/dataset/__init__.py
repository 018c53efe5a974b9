"""Write the generated dataset: scenes, card, statistics and exports."""
