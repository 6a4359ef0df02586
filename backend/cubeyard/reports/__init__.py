"""Reports: a run as a page to keep, print or send: setup, results and provenance.

In: the content of each kind of run (`figure.py`, `points.py`, `session.py`), and its forms as HTML
and PDF.

Not in: computing results (`runs/`, `emulation/judge`).

A number stands beside its basis: modelled, measured with its fidelity, or assumed.
"""
