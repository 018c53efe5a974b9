"""Read stimuli and trials."""
