"""Train networks to predict where a person looks, as a proof of concept.

One is trained on pictures in which head and eyes agree, the other on pictures in which they often disagree.
"""
