"""Test messages for mistakes of new users, listed in tables: what is wrong, where it is, and how to fix it."""
