"""The plotting kit: colors, panels, dots, heat maps, and figures as files."""
