"""Figures: the papers' figures and tables as canned experiments, the published numbers beside ours."""
