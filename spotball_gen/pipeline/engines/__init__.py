"""What takes videos and items through the stages: on this machine, or on many."""
