"""Webhooks: signed HTTP requests to other programs when a run ends or a plan changes. [ours]

In: the table of webhooks and of their deliveries, REST, and the sender of workers. A delivery is a
row of the transaction that ends the run or changes the plan, so that a crash loses none; it is sent
at least once.

Not in: who may call this server. The setting `CUBEYARD_WEBHOOK_HOSTS` lists the hosts that it may
call.
"""
