"""Faults as values: which devices and links each one hits, and when it starts and ends.

Inside: `faults.py`, requests resolved to devices by the engine, and the schedule; `drawn.py`,
shares of a part of a plan; `damage.py`, the state of the network at one moment as a prediction
takes it.

Not here: injecting them (`session/injector.py`), and when a session does so
(`session/fault_control.py`).

A fault is resolved once, with a seed, and kept: the API, the worker and the report name the same
devices.
"""
