"""The proof of concept: a network that predicts where somebody looks, trained on pictures where head and eyes agree,
and on pictures where they often do not.
"""
