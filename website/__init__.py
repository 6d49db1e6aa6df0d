"""The site of the documentation: its generated pages. It is no part of the distribution."""
