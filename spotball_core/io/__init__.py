"""Reading and writing: scenes, responses, datasets and the published release."""
