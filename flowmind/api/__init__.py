"""The library: `ExecuteSummarize`, `summarize`, `RunnableWorkflow`."""
