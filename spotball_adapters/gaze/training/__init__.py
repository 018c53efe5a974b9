"""Train a network to predict where somebody looks: the proof of concept.

It is trained on pictures where head and eyes agree, and on pictures where they often do not.
"""
