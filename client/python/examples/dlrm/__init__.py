"""The parts of the quick start: a DLRM-style model, its training, its local twin, the report."""
