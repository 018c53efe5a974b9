"""Analyze the gaze task: which object the person in a photo looks at, and whether answers follow the eyes or head."""
