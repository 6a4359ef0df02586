"""Figures: the papers' figures and tables as fixed experiments, with the published numbers next to
ours.

Inside: one catalogue of computed and measured figures (`catalog.py`), their API, and starting a run
of one.

Not here: computing them (the engine) and measuring them (`emulation/figures`).

Each figure has a stable id, such as `bcube-table1`.
"""
