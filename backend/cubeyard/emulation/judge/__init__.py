"""What the measurements mean.

In: `guard.py`, whether the hypothesis holds; `fidelity.py`, whether the numbers are the network's
or this machine's; `consequences.py`, which events belong to which fault; `meant.py`, what each flow
is held to; `report.py`, the document that ends a run.

Not in: measuring (`measure/`), predicting (`setup/prediction.py`), and printing a report
(`cubeyard/reports/`).

Every verdict comes with its reason in words, because it decides whether a number can be trusted.
"""
