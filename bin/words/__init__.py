"""Counts words for `bin/check-words.py`: the prose of a file, the patterns in it, and the names in
its code."""
