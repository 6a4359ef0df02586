"""Figures: the papers' figures and tables as fixed experiments, the published numbers beside ours.

In: one catalogue of computed and measured figures (`catalog.py`), their API, and starting a run of
one.

Not in: computing them (the engine), and measuring them (`emulation/figures`).

A figure is named by an id that stays, like `bcube-table1`.
"""
