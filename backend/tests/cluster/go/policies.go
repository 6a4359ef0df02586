package main

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
)

// newPoliciesCommand judges packets by NetworkPolicies as kube-network-policies does, whose own main works only in a pod. Its rules of nftables
// need CONFIG_NFT_QUEUE, which some kernels lack: the caller leads the packets to the queue by a rule of iptables.
func newPoliciesCommand() *cobra.Command {
	var kubeconfig, node string
	var queue int
	command := &cobra.Command{
		Use: "kube-network-policies",
		RunE: func(command *cobra.Command, _ []string) error {
			until, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM)
			defer stop()
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return err
			}
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return err
			}
			factory := informers.NewSharedInformerFactory(client, 0)
			core := factory.Core().V1()
			controller, err := networkpolicy.NewController(client, factory.Networking().V1().NetworkPolicies(), core.Namespaces(), core.Pods(), nil, nil,
				nil, nil, networkpolicy.Config{NodeName: node, QueueID: queue})
			if err != nil {
				return err
			}
			factory.Start(until.Done())
			return controller.Run(until)
		},
	}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "")
	command.Flags().StringVar(&node, "node", "", "the node's name")
	command.Flags().IntVar(&queue, "queue", 0, "number of the kernel's queue of packets")
	return command
}
