"""Benchmarks: every figure beside its peers and its limit, from one run."""
