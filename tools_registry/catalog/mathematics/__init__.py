"""Tools on numbers and lists of numbers."""
