"""One session: servers up, one pair calibrated, the workload measured, faults injected, everything
removed.

In: `session.py`, the course of it; `calibration.py` and `traffic.py`, sending flows;
`fault_control.py` and `injector.py`, faults while it runs; `opening.py`, the frame that opens it;
`beside.py`, users' programs that end; `sink.py` and `orders.py`, what it needs of whoever runs it.

Not in: databases and terminals. A worker (`runner.py`), the command line and the figures each bring
a sink of their own.

Whatever happens, nothing of a session is left on the machine when it ends.
"""
