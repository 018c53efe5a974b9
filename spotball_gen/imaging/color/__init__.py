"""Find ball and players by known colors, in synthetic pictures. In real footage, light and shade change the colors.

Lengths are fractions of the image's height, so results do not depend on its size.
"""
