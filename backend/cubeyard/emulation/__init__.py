"""Runs an experiment with real packets: containers or namespaces, wired, shaped, loaded, broken and taken down again."""
