"""Create synthetic match videos for the demo, in which all positions are known. They do not resemble real footage."""
