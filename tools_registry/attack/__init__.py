"""A standing attack on the sandbox: programs composed of everything that tool code can reach, and what they got."""
