"""Train networks to predict where a person looks, as a proof of concept.

One network is trained on pictures in which head and eyes point to the same object, another network on pictures in
which they often point to different objects.
"""
