"""Engines: process videos and items through the stages, on this machine or on a cluster."""
