"""All values that are decided before the first packet: read from an experiment's document, and
checked against limits.

Inside: `question.py`, the whole setup as one value; `flows.py`, the connections of the workload;
`prediction.py`, the flow engine's prediction; `estimate.py`, the resources that the run needs on
this machine; `user_images.py`, users' programs in second containers.

Not here: code that starts a process or opens a socket. Reading a document has no side effects.

A document that cannot be run raises a 422 that names the field.
"""
