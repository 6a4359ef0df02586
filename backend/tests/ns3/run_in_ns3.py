"""Runs ns-3 on a star and on a dumbbell, in a Python with the wheel `ns3`; imports nothing of
Cubeyard.

Reads a list of cases as JSON, and prints for each the seconds until each flow's last byte has
arrived: `[[secs, ...], ...]`. ns-3 has the same settings as the packet engine: NewReno (RFC 6582),
no selective acknowledgements or timestamps, every packet acknowledged, drop-tail queues in packets,
and no queue disc above a device. Connections are opened first, so that a flow starts a round trip
later.
"""

# pyright: basic

from __future__ import annotations

import json
import sys

from ns import ns  # type: ignore[reportMissingImports]

ns.cppyy.cppdef(r"""
using namespace ns3;

static std::vector<double> g_ends;
static std::vector<uint64_t> g_received;

static void Received(uint32_t flow, uint64_t bytes, Ptr<const Packet> packet, const Address&) {
  g_received[flow] += packet->GetSize();
  if (g_received[flow] >= bytes && g_ends[flow] < 0) {
    g_ends[flow] = Simulator::Now().GetSeconds();
    if (std::all_of(g_ends.begin(), g_ends.end(), [](double end) { return end >= 0; })) Simulator::Stop();
  }
}

// Senders, then routers in a row, then receivers; every link alike. With one router and one receiver it is a star's incast.
std::vector<double> RunFlows(uint32_t flows, uint32_t routers, bool oneReceiver, double mbps, double delayUs, uint32_t queuePackets,
                             uint64_t bytes, double rtoMin, std::vector<double> starts) {
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpNewReno")));
  Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(rtoMin)));
  Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(1)));
  Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 24));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 24));
  g_ends.assign(flows, -1);
  g_received.assign(flows, 0);
  NodeContainer senders, middle, receivers;
  senders.Create(flows);
  middle.Create(routers);
  receivers.Create(oneReceiver ? 1 : flows);
  InternetStackHelper internet;
  internet.Install(senders);
  internet.Install(middle);
  internet.Install(receivers);
  PointToPointHelper line;
  line.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(mbps * 1e6))));
  line.SetChannelAttribute("Delay", TimeValue(NanoSeconds(uint64_t(delayUs * 1000))));
  line.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queuePackets)));
  Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
  TrafficControlHelper control;
  auto join = [&](Ptr<Node> a, Ptr<Node> b) {
    NetDeviceContainer ends = line.Install(a, b);
    Ipv4InterfaceContainer at = addresses.Assign(ends);
    control.Uninstall(ends);
    addresses.NewNetwork();
    return at.GetAddress(1);
  };
  for (uint32_t i = 0; i < flows; i++) join(senders.Get(i), middle.Get(0));
  for (uint32_t i = 0; i + 1 < routers; i++) join(middle.Get(i), middle.Get(i + 1));
  std::vector<Ipv4Address> to;
  for (uint32_t i = 0; i < receivers.GetN(); i++) to.push_back(join(middle.Get(routers - 1), receivers.Get(i)));
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  for (uint32_t i = 0; i < flows; i++) {
    uint32_t end = oneReceiver ? 0 : i;
    uint16_t port = 5000 + i;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer sinks = sink.Install(receivers.Get(end));
    sinks.Start(Seconds(0));
    sinks.Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, i, bytes));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(to[end], port));
    bulk.SetAttribute("MaxBytes", UintegerValue(bytes));
    bulk.SetAttribute("SendSize", UintegerValue(1460));
    bulk.Install(senders.Get(i)).Start(Seconds(1 + starts[i]));
  }
  Simulator::Stop(Seconds(1000));
  Simulator::Run();
  Simulator::Destroy();
  std::vector<double> secs;
  for (uint32_t i = 0; i < flows; i++) secs.push_back(g_ends[i] < 0 ? -1 : g_ends[i] - 1 - starts[i]);
  return secs;
}
""")

told = []
for case in json.load(sys.stdin):
    secs = ns.cppyy.gbl.RunFlows(
        case["flows"],
        case["routers"],
        case["one_receiver"],
        case["mbps"],
        case["delay_us"],
        case["queue_packets"],
        case["bytes"],
        case["rto_min_secs"],
        case["starts_secs"],
    )
    told.append(list(secs))
print(json.dumps(told))
