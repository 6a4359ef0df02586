"""Interprets the measurements.

Inside: `guard.py`, whether the hypothesis holds; `fidelity.py`, whether the network or this machine
limited the numbers; `consequences.py`, which events belong to which fault; `meant.py`, the intended
rate of each flow; `report.py`, the document that ends a run.

Not here: measuring (`measure/`), predicting (`setup/prediction.py`), and printing a report
(`cubeyard/reports/`).

Every verdict comes with its reason in words, because it decides whether a number can be trusted.
"""
