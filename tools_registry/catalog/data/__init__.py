"""Tools for records, lists, dictionaries and dates."""
