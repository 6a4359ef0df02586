"""Chooses the part of a plan to emulate if the whole plan is too large for a machine, or for its
workload.

`fit.py` chooses. `smaller.py` finds the small networks of a family, by the family's description.
`part.py` cuts a connected part out of a custom network. `outside.py` removes settings that name
devices outside the part. `command_line.py` writes an experiment as a command.

Not here: checks of what can be run (`../question.py`, `../estimate.py`).
"""
