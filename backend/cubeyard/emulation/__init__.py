"""Runs an experiment with real packets: servers as containers or namespaces, wired, loaded, broken,
measured and removed.

One folder for each job. A folder imports only folders below it (import-linter checks):

runner.py a worker's emulation runs: frames into the database, orders from it figures/ published
figures measured on this machine live/ the API of a live run: its orders, previews, inspection of a
server session/ one session from start to end judge/ what the measurements mean: hypothesis,
fidelity, report measure/ sums of the fabric's ticks deploy/ starts and stops servers, removes
leftovers of dead runs (next to measure/) setup/ everything that is decided before the first packet
faults/ which devices a fault hits, and when fabric/ calls to cubeyard-fabric, on one host or
several (next to faults/) network/ the emulated network, as the engine describes it

Not here: network mathematics (the engine), experiments as documents (`experiments/`), storing
frames (`runs/`).
"""
