"""Trials of services in virtual time over the API: run a service on every server of a torus before
using it with real packets.

Inside: the request and its response (`schemas.py`), checks before a trial and its progress
(`service.py`), and the stream (`endpoints.py`). Trials are not stored.

Not here: the trial, which the engine runs (`emulator/crates/sandbox/src/trial.rs`); on the command
line it is `cubeyard service test`.
"""
