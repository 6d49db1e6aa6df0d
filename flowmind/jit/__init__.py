"""`flowmind.jit`: an agent behind a function, replaced by a workflow where that is safe."""
