"""Train a network to predict where a person looks, as a proof of concept.

It is trained on pictures in which head and eyes agree, and on pictures in which they often disagree.
"""
