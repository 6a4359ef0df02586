"""Readers of files that people send, each in a process of its own with limits of memory and time.
[ours]

In: asking for a reader (`readers.py`), and the program that forks a process for each (`forks.py`).

Not in: the readers, which are functions of other packages, and what they refuse by themselves. A
process bounds what a file costs and ends with the client; it has the rights of the server.
"""
