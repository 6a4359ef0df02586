"""Packets of a link or port of a live run: as a pcapng stream for Wireshark, and as readable
descriptions.

Inside: `feed.py`, the fabric's stream; `pcapng.py`, its blocks and packets; `decoding.py`, the
description of a packet; `filters.py`, which packets are wanted; `streams.py`, both streams and
their maximum number; `endpoints.py`.

Not here: captures that are stored with the run (`live/captures.py`).
"""
