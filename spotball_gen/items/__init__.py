"""Items, and the protocol of the stages that they pass through."""
