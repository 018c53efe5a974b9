"""Write the page of a gaze analysis: its sections, charts and photos."""
