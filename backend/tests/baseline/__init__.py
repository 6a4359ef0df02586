"""The baseline: digests of outputs, recorded before a rebuilding and compared after it."""
