"""Benchmarks against peers: `make bench`. `docs/performance.md` says how to read them."""
