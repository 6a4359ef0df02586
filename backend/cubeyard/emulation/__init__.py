"""Runs an experiment with real packets: servers as containers or namespaces, wired, loaded, broken,
measured and removed.

One folder for each job. A folder imports only folders below it (import-linter checks):

    runner.py   a worker's emulation runs: frames into the database, orders out of it
    figures/    published figures measured on this machine
    live/       the API of a run under way: its orders, previews, inspection of a server
    session/    one session from start to end
    judge/      what the measurements mean: hypothesis, fidelity, report
    measure/    what the fabric's ticks add up to
    deploy/     servers up, down, and what dead runs left (next to measure/)
    setup/      everything that is fixed before the first packet
    faults/     which devices a fault hits, and when
    fabric/     talking to cubeyard-fabric, on one host or several (next to faults/)
    network/    the network that is emulated, as the engine describes it

Not here: network mathematics (the engine), experiments as documents (`experiments/`), storing
frames (`runs/`).
"""
