"""The authored tasks, one module a category and difficulty."""
