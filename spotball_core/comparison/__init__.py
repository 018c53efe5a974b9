"""Compare two respondents on the same images."""
