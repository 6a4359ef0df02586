"""Who may use this server. [ours]

A server that only this machine can reach asks for nothing. Any other bind address needs a token: as
`Authorization: Bearer` from programs, and from browsers once on `/login`, which answers with a
session cookie that no script can read and no other site can send. Tokens and sessions are 256
random bits, kept as SHA-256 only.
"""
