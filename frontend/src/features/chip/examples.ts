/**
 * Programs to begin with, the engine's own examples, each with a packet. A test compares them with
 * the engine's files.
 */
export interface Example {
  id: string;
  title: string;
  program: string;
  /** The packet in hexadecimal digits. */
  packet: string;
  inPort: number;
}

export const EXAMPLES: readonly Example[] = [
  {
    id: "bcube",
    title: "BCube, shared by all servers",
    inPort: 4,
    packet:
      "0000000000000200000000000800450000240000400003fd62d50a0000010a00000803410000000000000002000064617461",
    program: `// BCube by index-based source routing [serverswitch §5.1, Fig. 6], for every server of a run: each gives its own address
// (my_bcube_id) and its neighbours (nhas). The text is executed again whenever a neighbour changes.

SetUDLK(1, (B22-25, B34-41));
SetUDLK(2, (INPORT, B30-33, B42-45));

ND = 1;
ABQ = 2;

// Set up the forwarding table.
j = 0;
foreach nha in nhas
{
  SetVIfTable(nha, dstmac[nha], srcmac[nha], oport[nha]);
  for (index = 0; index < 8; index++)
  {
    // val[0] matches B22 (TTL), val[4:11] matches B34-41 (NHAs). A TTL of 2 means NHA1.
    val[0] = index+2;  mask[0] = 0xff;
    val[4+index] = nha;  mask[4+index] = 0xff;
    if (alive[nha] == 1)
    {
      action.act = REDIRECT_VIF;  action.vif = nha;
    }
    else
    {
      // The CPU tells the packet's source, which takes another path.
      action.act = TO_CPU;
    }
    SetLookupTable(TCAM, j++, 1, val, mask, &action);
  }
}

// Set up the filter to the server.
for (i = 0; i < 4; i++)
{
  action.act = REDIRECT_PORT;  action.port = 4 + i
  // Packets to this server: val[0] matches INPORT, val[1:4] match B30-33 (IP destination).
  val[0] = i;  mask[0] = 0xff
  val[1:4] = my_bcube_id;  mask[1:4] = 0xffffffff;
  SetLookupTable(TCAM, j++, 2, val, mask, &action);
  // Packets of the control plane: val[5] matches B42 (BCube protocol).
  val[0] = i;  mask[0] = 0xff;
  val[5] = ND;  mask[5] = 0xff;
  SetLookupTable(TCAM, j++, 2, val, mask, &action);
  val[0] = i;  mask[0] = 0xff;
  val[5] = ABQ;  mask[5] = 0xff;
  SetLookupTable(TCAM, j++, 2, val, mask, &action);
}
`,
  },
  {
    id: "bcube-fig6",
    title: "BCube, of one server",
    inPort: 4,
    packet:
      "0000000000000200000000000800450000240000400003fd62d50a0000010a00000803410000000000000002000064617461",
    program: `// BCube by index-based source routing [serverswitch §5.1, Fig. 6], for server 00 of a BCube(4,1).
// A next hop (NHA) has two bits for the level at which it differs and six for its digit there.

SetUDLK(1, (B22-25, B34-41));
SetUDLK(2, (INPORT, B30-33, B42-45));

my_bcube_id = 10.0.0.1;
ND = 1;
ABQ = 2;

// Neighbours at level 0: servers 01, 02 and 03.
SetVIfTable(0x01, "020000000100", "020000000000", 0);
SetVIfTable(0x02, "020000000200", "020000000000", 0);
SetVIfTable(0x03, "020000000300", "020000000000", 0);
// Neighbours at level 1: servers 10, 20 and 30.
SetVIfTable(0x41, "020000000401", "020000000001", 1);
SetVIfTable(0x42, "020000000801", "020000000001", 1);
SetVIfTable(0x43, "020000000C01", "020000000001", 1);

// Set up the forwarding table.
j = 0;
foreach nha in (0x01, 0x02, 0x03, 0x41, 0x42, 0x43)
{
  for (index = 0; index < 8; index++)
  {
    // val[0] is B22 (TTL), val[4:11] are B34-41 (NHAs). A TTL of 2 means NHA1.
    val[0] = index+2;  mask[0] = 0xff;
    val[4+index] = nha;  mask[4+index] = 0xff;
    action.act = REDIRECT_VIF;  action.vif = nha;
    SetLookupTable(TCAM, j++, 1, val, mask, &action);
  }
}

// Filter packets to the server.
for (i = 0; i < 4; i++)
{
  action.act = REDIRECT_PORT;  action.port = 4 + i
  // Packets to this server: val[0] is INPORT, val[1:4] are B30-33 (IP destination).
  val[0] = i;  mask[0] = 0xff
  val[1:4] = my_bcube_id;  mask[1:4] = 0xffffffff;
  SetLookupTable(TCAM, j++, 2, val, mask, &action);
  // Packets of the control plane: val[5] is B42 (BCube protocol).
  val[0] = i;  mask[0] = 0xff;
  val[5] = ND;  mask[5] = 0xff;
  SetLookupTable(TCAM, j++, 2, val, mask, &action);
  val[0] = i;  mask[0] = 0xff;
  val[5] = ABQ;  mask[5] = 0xff;
  SetLookupTable(TCAM, j++, 2, val, mask, &action);
}
`,
  },
  {
    id: "ipv4-routes",
    title: "IPv4 routes",
    inPort: 1,
    packet: "ffffffffffff0200000000aa08004500001800004000401126cc0a0000010a02000764617461",
    program: `// IPv4 by longest prefix, as a router does it: TTL down by one, checksum mended, MACs of the next hop.

SetVIfTable(0, "020000000100", "020000000000", 0);
SetVIfTable(1, "020000000201", "020000000001", 1);
SetVIfTable(2, "020000000302", "020000000002", 2);

SetLookupTable(LPM_IPV4, 0, 0, 0.0.0.0, 0.0.0.0, {act=REDIRECT_VIF, vif=0});
SetLookupTable(LPM_IPV4, 1, 0, 10.0.0.0, 255.0.0.0, {act=REDIRECT_VIF, vif=1});
SetLookupTable(LPM_IPV4, 2, 0, 10.2.0.0, 255.255.0.0, {act=REDIRECT_VIF, vif=2, dscp=46});
// This router's own address, and one host that is not to be reached.
SetLookupTable(EM_IPV4, 0, 0, 10.0.0.1, NULL, {act=TO_CPU});
SetLookupTable(EM_IPV4, 1, 0, 10.2.0.99, NULL, {act=DISCARD});
`,
  },
  {
    id: "mpls-tags",
    title: "MPLS labels",
    inPort: 1,
    packet: "ffffffffffff0200000000aa88470012c107450000180000400009115dcf0a0000010a01000564617461",
    program: `// Tag-based forwarding by MPLS labels [serverswitch §3.2.2]: at the edge a label is pushed before packets to 10.1.0.0/16,
// inside labels are swapped, and at the far edge the label is popped.

SetVIfTable(1, "020000000101", "020000000001", 1);
SetVIfTable(2, "020000000202", "020000000002", 2);

SetLookupTable(LPM_IPV4, 0, 0, 10.1.0.0, 255.255.0.0, {act=REDIRECT_VIF, vif=1, mpls=PUSH, label=100});
SetLookupTable(EM_MPLS, 0, 0, 200, NULL, {act=REDIRECT_VIF, vif=1, mpls=SWAP, label=201});
SetLookupTable(EM_MPLS, 1, 0, 300, NULL, {act=REDIRECT_VIF, vif=2, mpls=POP});
// Label 15 asks for the CPU.
SetLookupTable(EM_MPLS, 2, 0, 15, NULL, {act=TO_CPU});
`,
  },
  {
    id: "portland-edge",
    title: "PortLand edge switch",
    inPort: 0,
    packet: "ffffffffffff0200000000aa080600010800060400010000000000000000000000000000000000000000",
    program: `// PortLand's edge switch [serverswitch §3.2.2, §3.3.2]: longest prefix of the destination PMAC in the TCAM, ARP to the fabric
// manager, and the host's own MAC put back behind the last hop. A PMAC is pod.position.port.vmid; this switch is 00:00:01.

WriteRegister(L3_ENABLE, 0);
SetUDLK(1, (B0-5));
SetUDLK(2, (INPORT, B12-13));

SetVIfTable(0, "001F29D417E8", NULL, 0);
SetVIfTable(1, "001F29D417E9", NULL, 1);
SetVIfTable(2, NULL, NULL, 2);
SetVIfTable(3, NULL, NULL, 3);

// Up to the aggregation switches, by the last bit of the destination's pod.
SetLookupTable(TCAM, 0, 1, "000000000000", "000100000000", {act=REDIRECT_VIF, vif=2});
SetLookupTable(TCAM, 1, 1, "000100000000", "000100000000", {act=REDIRECT_VIF, vif=3});
// Down to this switch's hosts: the longer prefix has the higher index.
SetLookupTable(TCAM, 10, 1, "000001000001", "FFFFFFFFFFFF", {act=REDIRECT_VIF, vif=0});
SetLookupTable(TCAM, 11, 1, "000001010001", "FFFFFFFFFFFF", {act=REDIRECT_VIF, vif=1});
// ARP from the hosts.
SetLookupTable(TCAM, 20, 2, "000806", "FFFFFF", {act=TO_CPU});
SetLookupTable(TCAM, 21, 2, "010806", "FFFFFF", {act=TO_CPU});
`,
  },
];
