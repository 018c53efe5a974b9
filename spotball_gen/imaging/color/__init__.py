"""Finding a ball and players by known colors, in drawn pictures: light and shade change the colors of footage.

Lengths are shares of the image's height, so that its size does not matter.
"""
