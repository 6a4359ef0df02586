"""Checks programs of ServerSwitch's switching chip and traces one packet through them. Needs no run
and stores nothing.

Input: a program as text or JSON (at most 256 KiB) and a packet in hexadecimal digits. Output: the
content of the program, or the packet's steps through the chip's pipeline, with the matching entries
and changed bytes. An error in a program is a finding with its line and column.

Also inside: the paper's calls in Python (`serverswitch.py` for a server of a run; `model.py` for a
separate chip without a run), and the in-network cache as a program that uses them (`cache.py`).

Not here: the chip and its language (in the engine), and runs with chips.
"""
