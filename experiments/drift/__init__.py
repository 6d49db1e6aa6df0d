"""Guarded workflows on streams of requests, whose world changes at half time."""
