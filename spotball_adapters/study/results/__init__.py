"""Export what participants did, who is excluded, and what participants are paid."""
