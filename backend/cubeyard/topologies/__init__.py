"""Imports networks from files of other programs as specs of the family `custom`. [ours]

Inside: reading files (`readers/`), a reader's result (`network.py`), distinguishing servers from
switches (`roles.py`), rates of links (`rates.py`), names that are valid in a plan (`names.py`), the
spec with reports of what was read, assumed and left out (`importing.py`, `schemas.py`), and the API
(`endpoints.py`).

Not here: the rules of custom topologies, which the engine checks, and comparing lists of cables
with a plan (`cubeyard.asbuilt`, whose readers of CSV, NetBox and LLDP are used here). Nothing is
stored: the same file and options give the same document.
"""
