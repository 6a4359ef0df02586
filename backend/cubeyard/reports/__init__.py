"""Reports: a run as a page to keep, print or send: setup, results and provenance.

Inside: the content of each kind of run (`figure.py`, `points.py`, `session.py`), and its forms as
HTML and PDF.

Not here: computing results (`runs/`, `emulation/judge`).

Each number is shown with its basis: modelled, measured with its fidelity, or assumed.
"""
