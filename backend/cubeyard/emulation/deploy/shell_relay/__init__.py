"""Shells for a process that has no Docker engine: in a deployment the API requests them from the
worker, over a socket in a shared folder.

Inside: `exchange.py`, requests and responses; `serving.py`, the worker's side; `calling.py`, the
API's.

Not here: the shells (`shells.py`). The worker opens only plain shells in containers of its runs, so
that the API, which is exposed to the network, gets no more access to the engine than the page's
terminal has.
"""
