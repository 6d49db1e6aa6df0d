"""Tools as models see them: specs, JSON Schema, JSON values."""
