"""Draw figures: colors, panels, dot charts, heat maps, and figure files."""
