"""Trials of services in virtual time over the API: what one would do on every server of a torus, before it runs on packets.

In: the request and what it is refused for (`schemas.py`, `service.py`), and the stream (`endpoints.py`). Not in: the trial, which is
the engine's; the command line has it as `cubeyard service test`.
"""
