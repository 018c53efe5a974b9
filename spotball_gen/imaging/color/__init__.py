"""Find the ball and players in synthetic pictures by their known colors.

This is not suitable for real footage, in which light and shade change the colors. Lengths are fractions of the image's
height, so results do not depend on the image's size.
"""
