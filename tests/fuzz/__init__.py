"""Seeded mutation of valid documents against every parser: only contract errors, none with a value in it."""
