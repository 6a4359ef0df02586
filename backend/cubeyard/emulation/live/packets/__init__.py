"""Packets of a link or port of a run while they flow: as a pcapng stream for Wireshark, and in
words for people.

In: `feed.py`, what the fabric passes on; `pcapng.py`, blocks and packets in it; `decoding.py`, a
packet in words; `filters.py`, which packets are wanted; `streams.py`, both streams and how many
there may be; `endpoints.py`.

Not in: captures that are kept with the run (`live/captures.py`).
"""
