"""The baseline: digests of Cubeyard's outputs, recorded before a rebuilding and compared after it."""
