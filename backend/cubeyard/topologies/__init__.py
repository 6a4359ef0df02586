"""Networks that other programs describe, as specs of the family `custom`. [ours]

In: reading files (`readers/`), what of a network a reader gives (`network.py`), which node is a
server (`roles.py`), what a link carries (`rates.py`), names that a plan can hold (`names.py`), all
of it as a spec with what was read, assumed and left out (`importing.py`, `schemas.py`), and the
call of the API (`endpoints.py`).

Not in: what a custom topology may be, which the engine decides, and lists of cables beside a plan
(`cubeyard.asbuilt`, whose readers of CSV, NetBox and LLDP are used here). Nothing is stored: the
same file and options give the same document.
"""
