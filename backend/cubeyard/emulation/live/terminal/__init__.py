"""A terminal on the page in a server of a run: a WebSocket to a shell in the server's container.

Inside: `session.py`, one terminal from its start to its end, and the maximum number of terminals;
`schemas.py`, the messages in both directions; `endpoints.py`, whether one can be opened, and the
WebSocket.

Not here: starting and ending the shell (`deploy/shells.py`).
"""
