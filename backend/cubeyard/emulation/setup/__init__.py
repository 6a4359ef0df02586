"""Everything that is fixed before the first packet, read from an experiment's document and checked
against limits.

In: `question.py`, all of it in one value; `flows.py`, the connections of the workload;
`prediction.py`, what the flow engine expects; `estimate.py`, what the run costs this machine;
`user_images.py`, users' programs in second containers.

Not in: anything that starts a process or opens a socket. Reading a document has no effect.

Whatever cannot be run is refused here, with a 422 that names the field.
"""
