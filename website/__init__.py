"""The site of the documentation: its generated pages. The distribution does not contain it."""
