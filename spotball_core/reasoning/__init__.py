"""Reasoning: what do the words that come with an answer speak of? (Spot the Ball, section 5.2.)"""
