"""What every other folder uses: database, errors, ids, auth, logs, metrics, server-sent events.

In: `db.py`, `embedded.py` (a PostgreSQL of our own) and `schema.py` (migrations); `queue.py`,
`connector.py` and `ear.py` (work in the database, and who listens for it); `errors.py`, the one
error shape, and `problems.py`, the same as HTTP responses; `routing.py` and `models.py`, endpoints
and models that cost nothing before they are used; the ASGI middleware; `auth/`; `changes/` (who
changed what and when).

Not in: anything of the domain. Nothing here knows what a plan is.
"""
