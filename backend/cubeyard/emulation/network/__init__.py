"""The emulated network: servers, switches and links of a plan, or of a slice of it.

Inside: `network.py`, the value that all other folders use, with the plan's ids and names;
`services.py`, users' services for its servers; `programs.py`, users' programs for the servers'
chips.

Not here: on which hosts its servers run (`fabric/hosts.py`), the traffic of its links
(`setup/prediction.py`), and arithmetic on addresses or parameters of a family, which is in the
engine.

A slice keeps the ids of the plan, so that frames, events and faults name the same devices as the
plan.
"""
