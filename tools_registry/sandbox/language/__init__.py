"""The language layer: the policy that untrusted source is compiled under."""
