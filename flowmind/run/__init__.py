"""Running a workflow: the compiler and the runner."""
