"""The gaze task: prompts, photos, matching of replies to objects, and models of gaze."""
