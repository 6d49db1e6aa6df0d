"""Chat models: the OpenAI-compatible client, recording, and the embedded `search` model."""
