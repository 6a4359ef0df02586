"""Experiments: a plan, traffic, faults and seeds, saved under a name. An experiment never changes;
a changed one is a new one.

In: requests (`question.py`, `faults.py`, `emulation.py`) and their checks, hypotheses, scenarios
(`scenario/`), the points of a sweep, estimates of a run's time, the engines that can run one, and
results as the API returns them.

Not in: running one (`runs/`, `emulation/`), and the list of fault kinds, which the engine owns
(`fault_kinds.py` reads it).
"""
