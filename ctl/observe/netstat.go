// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/session"
)

func newNetstatCommand(s *session.Session) *cobra.Command {
	var sockets sockets

	cmd := s.Flags(&cobra.Command{
		Use:     "netstat [POD]",
		Aliases: []string{"ss"},
		Short:   "List the sockets of the nodes, or of pods",
		Long: `List the connections of the node's network, or of a pod (given as NAMESPACE/NAME), or with --pods of all of them.

Connected sockets are listed; --listening lists those that listen, --all lists both.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				sockets.pod = args[0]
			}

			return session.List(s, cmd, sockets.columns(), sockets.fetch)
		},
		ValidArgsFunction: s.CompleteArg(0, func(n session.Node, ctx context.Context) ([]string, error) {
			pods, err := podNetworks(ctx, n)

			return slices.Sorted(maps.Values(pods)), err
		}),
	})

	s.OutputFlagAs(cmd, "")
	sockets.flags(cmd)

	return cmd
}

// sockets holds the flags: which sockets are listed, and which columns.
type sockets struct {
	all, listening, pods, programs, extend, timers, verbose, v4, v6 bool

	tcp, udp, udplite, raw bool
	pod                    string
}

func (s *sockets) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&s.all, "all", "a", false, "list listening and connected sockets")
	flags.BoolVarP(&s.listening, "listening", "l", false, "list listening sockets")
	flags.BoolVarP(&s.pods, "pods", "k", false, "list the sockets of Kubernetes' pods too")
	flags.BoolVarP(&s.programs, "programs", "p", false, "show the process of each socket")
	flags.BoolVarP(&s.extend, "extend", "x", false, "show the user and inode of each socket")
	flags.BoolVarP(&s.timers, "timers", "o", false, "show the timers of each socket")
	flags.BoolVarP(&s.verbose, "verbose", "v", false, "list the sockets of all transports")
	flags.BoolVarP(&s.tcp, "tcp", "t", false, "list TCP sockets only")
	flags.BoolVarP(&s.udp, "udp", "u", false, "list UDP sockets only")
	flags.BoolVarP(&s.udplite, "udplite", "U", false, "list UDP-Lite sockets only")
	flags.BoolVarP(&s.raw, "raw", "w", false, "list raw sockets only")
	flags.BoolVarP(&s.v4, "ipv4", "4", false, "list IPv4 sockets only")
	flags.BoolVarP(&s.v6, "ipv6", "6", false, "list IPv6 sockets only")
}

// request returns the request of the flags. The default is TCP and UDP of both families.
func (s *sockets) request(networks []string) *machine.NetstatRequest {
	tcp, udp, udplite, raw := s.tcp, s.udp, s.udplite, s.raw

	switch {
	case tcp || udp || udplite || raw:
	case s.verbose:
		tcp, udp, udplite, raw = true, true, true, true
	default:
		tcp, udp = true, true
	}

	v4, v6 := s.v4 || !s.v6, s.v6 || !s.v4
	filter := machine.NetstatRequest_CONNECTED

	switch {
	case s.all:
		filter = machine.NetstatRequest_ALL
	case s.listening:
		filter = machine.NetstatRequest_LISTENING
	}

	return &machine.NetstatRequest{
		Filter:  filter,
		Feature: &machine.NetstatRequest_Feature{Pid: s.programs},
		L4Proto: &machine.NetstatRequest_L4Proto{
			Tcp: tcp && v4, Tcp6: tcp && v6, Udp: udp && v4, Udp6: udp && v6,
			Udplite: udplite && v4, Udplite6: udplite && v6, Raw: raw && v4, Raw6: raw && v6,
		},
		Netns: &machine.NetstatRequest_NetNS{Hostnetwork: s.pod == "", Netns: networks, Allnetns: s.pods && s.pod == ""},
	}
}

// fetch lists the sockets, with the names of pods in place of their network namespaces.
func (s *sockets) fetch(n session.Node, ctx context.Context) ([]*machine.ConnectRecord, error) {
	var (
		wanted   []string
		networks map[string]string
	)

	if s.pods || s.pod != "" {
		var err error
		if networks, err = podNetworks(ctx, n); err != nil {
			return nil, err
		}

		for network, pod := range networks {
			if pod == s.pod {
				wanted = append(wanted, network)
			}
		}

		if s.pod != "" && len(wanted) == 0 {
			return nil, fmt.Errorf("the node has no pod %q with a network of its own; list its pods with: talosctl containers -k", s.pod)
		}
	}

	records, err := n.Netstat(ctx, s.request(wanted))

	for _, record := range records {
		if pod, known := networks[record.GetNetns()]; known {
			record.Netns = pod
		}
	}

	return records, err
}

// podNetworks returns the pods that have a network of their own, by network namespace.
func podNetworks(ctx context.Context, n session.Node) (map[string]string, error) {
	containers, err := n.Containers(ctx, client.KubernetesNamespace)
	byNamespace := map[string]string{}

	for _, container := range containers {
		if network, pod := container.GetNetworkNamespace(), container.GetPodId(); network != "" && byNamespace[network] == "" {
			byNamespace[network] = pod
		}
	}

	return byNamespace, err
}
