"""One session: servers up, one pair calibrated, the workload measured, faults injected, everything
removed.

Inside: `session.py`, its steps; `calibration.py` and `traffic.py`, sending flows;
`fault_control.py` and `injector.py`, faults while it runs; `opening.py`, the first frame;
`beside.py`, users' programs that end; `sink.py` and `orders.py`, its interfaces to the caller.

Not here: databases and terminals. A worker (`runner.py`), the command line and the figures each
provide a sink.

A session removes everything from the machine when it ends, also after errors.
"""
