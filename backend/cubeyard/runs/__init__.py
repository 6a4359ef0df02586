"""Runs: attempts at an experiment or a figure, their frames, and the stream of both.

In: the queue of runs and its leases, the worker's side (`runner.py`, `sharing.py`, `predictor.py`),
chunks of points and frames in the database, the stream to clients, results, and the reaper of what
dead workers held.

Not in: what a frame contains (`frames/`), and real packets (`emulation/`).
"""
