"""The network that is emulated: servers, switches and links of a plan, or of a slice of it.

In: `network.py`, the value that every other folder speaks of, with ids and names as the plan has
them; `services.py`, the services that users wrote for its servers; `programs.py`, the programs that
they wrote for the servers' chips.

Not in: where its servers run (`fabric/hosts.py`), what its links carry (`setup/prediction.py`), and
any arithmetic on addresses or parameters of a family: the engine does that.

Ids stay the plan's own in a slice too, so that frames, events and faults name the same devices as
the plan does.
"""
