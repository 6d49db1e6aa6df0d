"""The embedded models `follow` and `slips:R`, which are no language models: they talk by rules."""
