"""Cubeyard: plans, prices and wires container data centers. No network mathematics lives in this package."""

__version__ = "0.1.0"
