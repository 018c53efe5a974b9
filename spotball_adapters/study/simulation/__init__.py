"""Simulated participants, who try out a study before people do: how they behave, and their way through the server."""
