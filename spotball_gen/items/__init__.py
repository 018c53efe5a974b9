"""Items, and the protocol of the stages they pass through."""
