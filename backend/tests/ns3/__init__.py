"""The packet engine beside ns-3."""
