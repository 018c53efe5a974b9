"""Analyze the gaze task: which object a person looks at, and whether respondents follow the eyes or the head."""
