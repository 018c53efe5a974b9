"""Mistakes of newcomers, as a table: each message must state what is wrong, where, and how to fix it."""
