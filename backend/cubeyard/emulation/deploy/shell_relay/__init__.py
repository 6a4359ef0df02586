"""Shells for a process that has no Docker engine: in a deployment the API asks the worker, over a
socket in the folder that they share.

In: `exchange.py`, what is asked and answered; `serving.py`, the worker's side; `calling.py`, the
API's.

Not in: what a shell is (`shells.py`). The worker opens nothing but bare shells in containers of its
own runs, so that the API, which listens to the network, gets no more from the engine than the
terminal of a page does.
"""
