"""Benchmarks against other libraries: `make bench`. `docs/performance.md` describes them."""
