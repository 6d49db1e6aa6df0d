"""The tools of the worlds of the suite `api`: one module for each world, read as text and run in the sandbox."""
