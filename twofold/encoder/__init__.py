"""Prompt to system: what the first half of the model hands to the second."""
