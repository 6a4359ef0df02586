"""A terminal on the page in a server of a run: a WebSocket to a shell in the server's container.

In: `session.py`, one terminal from its start to its end, and how many there may be; `schemas.py`,
the messages in both directions; `endpoints.py`, whether one can be opened, and the WebSocket.

Not in: starting and ending the shell (`deploy/shells.py`).
"""
