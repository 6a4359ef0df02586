"""The subcommands: the function of each, and its line in the help, which is shown without loading
them."""

from __future__ import annotations

SUBCOMMANDS = {
    "run": ("server:run", "Serve the page and the API."),
    "worker": (
        "server:work",
        "Carry out background exports and runs, from the server's database. Any number of workers share the points of a sweep.",
    ),
    "plan": ("plan:plan", "Compute a plan and print its numbers."),
    "export": ("plan:export", "Write a plan as a file: a workbook, a PDF, NetBox tables and more."),
    "formats": ("plan:formats", "List the export formats, and the check of each."),
    "prices": (
        "prices:prices",
        "Copy prices, suppliers and part numbers from a filled-in bill of materials into a price book.",
    ),
    "netbox": ("netbox:netbox_app", "Documents a plan in a NetBox."),
    "asbuilt": (
        "asbuilt:asbuilt",
        "Compare a list of cables from the floor with a plan: missing, swapped, wrong port, wrong length, and the shortest repair.",
    ),
    "topology": ("plan:topology", "Print a topology's links, or its counts and wiring certificate. Any size."),
    "import-topology": (
        "topologies:import_topology",
        "Read a network from a file and write it as a topology's spec: cubeyard plan --spec takes it.",
    ),
    "openapi": ("server:openapi", "Write the description of the API as OpenAPI JSON."),
    "paths": (
        "paths:paths",
        "Print the parallel paths of two servers: a largest set of paths that share no device, with the smallest total length.",
    ),
    "search": ("search:search", "Search for the best plans. Exits with 1 if no plan meets the constraints."),
    "life": (
        "life:life",
        "Simulate years of failures and repairs of a plan. Exits with 2 for a plan that cannot be simulated.",
    ),
    "predict": (
        "predict:predict",
        "Predict a plan's throughput, load and paths, with or without failures.",
    ),
    "simulate": (
        "simulate:simulate",
        "Simulate a workload packet by packet: completion times, drops, timeouts and queues.",
    ),
    "figures": ("figures:figures", "List the papers' figures and tables that can be recomputed or measured."),
    "figure": ("figures:figure", "Recompute or measure a figure or table, and compare it with the paper's numbers."),
    "emulate": (
        "emulate:emulate",
        "Run a plan with real packets: containers or namespaces, TCP, MPTCP or UDP, and faults. Prints the report.",
    ),
    "scenario": ("scenario:scenario_app", "Saved scenarios: plan, traffic, faults and hypotheses in one YAML file."),
    "capture": (
        "capture:capture",
        "Capture the packets of a link or port of a run to a pcapng file, which is stored with the run.",
    ),
    "shell": ("capture:shell", "Print the command that opens a shell in the network of a run's server."),
    "service": (
        "service:service_app",
        "Services that the servers of a run host, messages to them, and your services.",
    ),
    "routes": (
        "routes:routes",
        "Print the routes of a switch or server of a run, and the weighted next hops that they share.",
    ),
    "chip": (
        "chip:chip_app",
        "Programs of the switching chip: check, compare and step through them, and put them into runs.",
    ),
    "relay": (
        "relay:relay",
        "Let workers that have a key call this machine's cubeyard-fabric over the network (TLS 1.3).",
    ),
    "keys": (
        "relay:keys",
        "Make the keys of relays, workers and the API, or renew them.",
    ),
    "clean": (
        "clean:clean",
        "Remove containers, namespaces and processes of emulations whose process is gone. Running ones are left alone.",
    ),
    "changes": ("changes:changes", "List changes with author and time, the latest first."),
    "webhook": ("webhooks:webhook_app", "Programs that are called when a run ends or a plan changes."),
    "token": ("admin:token_app", "API tokens, for servers that others can reach."),
    "db": ("admin:db_app", "The database's tables."),
    "backup": (
        "backup:backup",
        "Write everything in the database to a file: plans, prices, runs, tokens. Servers may run.",
    ),
    "restore": (
        "backup:restore",
        "Restore a backup into an empty database, and migrate it if it is from an older version.",
    ),
    "completion": ("completion:completion", "Print the script that completes commands and options in a shell."),
    "man": ("reference:man", "Print the man page of all commands: cubeyard man | man -l -"),
}
"""Module and function (or group of further subcommands) of each, and its summary, in the order of
the help."""
