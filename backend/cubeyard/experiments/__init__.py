"""Experiments: what is to be predicted, written down once and never changed."""
