"""The families of the suite `api`: each module has worlds, and tasks in them."""
