"""Tools: what they promise (`spec`), what their source may do (`policy`), and where they run (`sandbox`)."""
