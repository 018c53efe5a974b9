"""Asking models where somebody looks: prompts, photos, and which object a reply names."""
