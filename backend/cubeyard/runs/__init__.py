"""Runs: attempts at an experiment or a figure, their frames, and the stream of both."""
