"""Test mistakes of newcomers, listed in tables. Each message must state what is wrong, where, and how to fix it."""
