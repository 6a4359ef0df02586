"""What of a plan is emulated where the whole is too large for a machine, or for its workload.

`fit.py` chooses. `smaller.py` finds the small networks of a family, by the family's own
description. `part.py` cuts a connected part out of a custom network. `outside.py` leaves out what
names devices that were not taken. `command_line.py` writes an experiment as a command.

Not here: what can be run at all (`../question.py`, `../estimate.py`).
"""
