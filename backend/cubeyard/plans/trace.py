"""One device with everything plugged into it, and one rack from top to bottom: what a technician asks for."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import numpy as np

from cubeyard.engine import BuiltPlan
from cubeyard.kit.errors import not_found
from cubeyard.plans import schemas


def device_trace(plan: BuiltPlan, name: str) -> schemas.DeviceTrace:
    index = plan.device_index.get(name)
    if index is None:
        raise not_found(f"device {name}")
    columns = plan.all_cables
    from_here = np.flatnonzero(columns["a_device"] == index)
    to_here = np.flatnonzero(columns["b_device"] == index)
    by_port: dict[int, tuple[int, bool]] = {}
    for cable in from_here.tolist():
        by_port[int(columns["a_port"][cable])] = (cable, True)
    for cable in to_here.tolist():
        by_port[int(columns["b_port"][cable])] = (cable, False)
    port_count = plan.scene["devices"]["port_count"][index]
    names = plan.port_names(index)
    ports = [_port(plan, port, names[port], by_port.get(port)) for port in range(port_count)]
    return schemas.DeviceTrace(plan_hash=plan.plan_hash, device=device_ref(plan, index), ports=ports)


def rack_sheet(plan: BuiltPlan, name: str) -> schemas.RackSheet:
    index = plan.rack_index.get(name)
    if index is None:
        raise not_found(f"rack {name}")
    scene = plan.scene
    devices, racks = scene["devices"], scene["racks"]
    rack_of = np.asarray(devices["rack"])
    here = np.flatnonzero(rack_of == index).tolist()
    here.sort(key=lambda device: (-devices["unit"][device], devices["slot"][device], device))
    columns = plan.all_cables
    near, far = rack_of[columns["a_device"]], rack_of[columns["b_device"]]
    leaving = np.concatenate([far[(near == index) & (far != index)], near[(far == index) & (near != index)]])
    neighbours = Counter(leaving.tolist())
    ordered = sorted(neighbours.items(), key=lambda item: (-item[1], item[0]))
    return schemas.RackSheet(
        plan_hash=plan.plan_hash,
        index=index,
        name=name,
        row=racks["row"][index],
        facing=racks["facing"][index],
        group=racks["group"][index],
        group_label=racks["group_label"][index],
        x_metres=racks["x_metres"][index],
        y_metres=racks["y_metres"][index],
        units=racks["units"][index],
        units_used=racks["units_used"][index],
        power_watts=racks["power_watts"][index],
        weight_kg=racks["weight_kg"][index],
        servers=racks["servers"][index],
        switches=racks["switches"][index],
        devices=[device_ref(plan, device) for device in here],
        cables_inside=int(np.count_nonzero((near == index) & (far == index))),
        cables_leaving=int(leaving.size),
        neighbours=[schemas.RackNeighbour(rack=racks["name"][other], cables=count) for other, count in ordered],
    )


def device_ref(plan: BuiltPlan, index: int) -> schemas.DeviceRef:
    devices = plan.scene["devices"]
    part = plan.scene["parts"][devices["part"][index]]
    kind: Literal["server", "switch"] = "switch" if devices["kind"][index] else "server"
    return schemas.DeviceRef(
        index=index,
        name=devices["name"][index],
        kind=kind,
        level=devices["level"][index],
        rack=plan.scene["racks"]["name"][devices["rack"][index]],
        unit=devices["unit"][index],
        slot=devices["slot"][index],
        slots=devices["slots"][index],
        height_units=devices["height_units"][index],
        sku=part["sku"],
        part=part["name"],
    )


def _port(plan: BuiltPlan, port: int, name: str, found: tuple[int, bool] | None) -> schemas.TracedPort:
    if found is None:
        return schemas.TracedPort(port=port, name=name, cable=None, peer=None, peer_port=None, peer_port_name=None)
    cable, near = found
    columns = plan.all_cables
    peer = int(columns["b_device" if near else "a_device"][cable])
    peer_port = int(columns["b_port" if near else "a_port"][cable])
    near_names, far_names = plan.cable_port_names(cable, cable + 1)
    near_labels, far_labels = plan.labels(cable, cable + 1)
    part = plan.scene["parts"][int(columns["part"][cable])]
    bundle = int(columns["bundle"][cable])
    return schemas.TracedPort(
        port=port,
        name=name,
        cable=schemas.CableRef(
            index=cable,
            name=cable_name(cable),
            level=int(columns["level"][cable]),
            route=plan.scene["routes"][int(columns["route"][cable])],
            colour=plan.scene["colours"][int(columns["colour"][cable])],
            length_metres=int(columns["length_mm"][cable]) / 1000,
            stock_metres=int(columns["stock_mm"][cable]) / 1000,
            sku=part["sku"],
            part=part["name"],
            bundle=bundle if bundle >= 0 else None,
            label=near_labels[0] if near else far_labels[0],
        ),
        peer=device_ref(plan, peer),
        peer_port=peer_port,
        peer_port_name=far_names[0] if near else near_names[0],
    )


def cable_name(index: int) -> str:
    return f"C{index:05d}"
