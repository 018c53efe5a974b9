"""Ask models where the person in a photo looks: prompts, photos, matching of replies to objects, and gaze models."""
