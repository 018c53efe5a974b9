"""A synthetic match video for the demo, in which all positions are known. It does not resemble real footage."""
