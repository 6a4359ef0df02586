"""Plans: saved specs with revisions, and everything computed from them."""
