"""What an agent works on (tasks) and what it does (traces), and where the values of a trace come from."""
