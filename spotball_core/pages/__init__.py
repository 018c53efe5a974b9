"""The page kit: sections, tables and pictures as one HTML file."""
