"""Price books: parts with their prices and sources, in versions that never change."""
