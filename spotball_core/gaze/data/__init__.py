"""Read and write stimuli and trials."""
