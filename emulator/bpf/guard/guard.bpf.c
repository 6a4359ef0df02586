/* Keeps the stack out of the packets of a server whose node forwards in user space: a TC program at the ingress of each
 * port and of the virtual network card's inner end. Control messages, which are UDP between control addresses, pass. */
#include <linux/pkt_cls.h>

#include "../common/parsing.h"

SEC("classifier")
int cubeyard_guard(struct __sk_buff *skb)
{
	struct ethhdr *eth = (void *)(long)skb->data;
	struct iphdr *ip = (void *)(eth + 1);

	if (skb->protocol == bpf_htons(ETH_P_ARP))
		return TC_ACT_OK;
	/* The node reads every frame before TC sees it, so what is kept from the stack here is lost to nobody. */
	if (skb->protocol != bpf_htons(ETH_P_IP) || (void *)(ip + 1) > (void *)(long)skb->data_end)
		return TC_ACT_SHOT;
	return ip->protocol != IPPROTO_IPIP && is_control(ip->daddr) ? TC_ACT_OK : TC_ACT_SHOT;
}

/* Of the helpers used, none asks for the GPL. */
char LICENSE[] SEC("license") = "Apache-2.0";
