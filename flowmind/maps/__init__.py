"""Where cases are evaluated: in this process, in other processes, or on other machines (`flowmind.protocols.Map`)."""
