"""Runs: attempts at an experiment or a figure, their frames, and the stream of both.

Inside: the queue of runs and its leases, the worker's side (`runner.py`, `sharing.py`,
`predictor.py`), chunks of points and frames in the database, the stream to clients, results, and
the reaper that frees the runs of dead workers.

Not here: the content of frames (`frames/`), and real packets (`emulation/`).
"""
