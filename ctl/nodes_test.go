// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/seed-59268b81/talos/api/common"
	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client/clienttest"
)

const (
	addressType     = "AddressStatuses.net.talos.dev"
	definitionsType = "ResourceDefinitions.meta.cosi.dev"
)

// startCluster starts a server with two nodes, 172.20.0.2 and 172.20.0.3, of which the first also serves calls that name no
// node, and with 172.20.0.9, which is down.
func startCluster(t *testing.T) *clienttest.Server {
	t.Helper()

	first, second, down := newNode("172.20.0.2"), newNode("172.20.0.3"), newNode("172.20.0.9")
	down.SetDown(true)

	return clienttest.Start(t, map[string]*clienttest.Node{"": first, "172.20.0.2": first, "172.20.0.3": second, "172.20.0.9": down})
}

func newNode(address string) *clienttest.Node {
	owned := clienttest.Resource("network", addressType, "eth0/"+address+"/24", "address: "+address+"/24\nlinkName: eth0\nlinkIndex: 4\n")
	owned.Metadata.Owner = "network.AddressStatusController"
	owned.Metadata.Finalizers = []string{"network.NodeAddressController"}
	owned.Metadata.Labels = map[string]string{"talos.dev/physical": "true"}

	gone := clienttest.Resource("network", addressType, "eth1/10.0.0.1/8", "address: 10.0.0.1/8\nlinkName: eth1\n")
	changed := clienttest.Resource("network", addressType, "lo/127.0.0.1/8", "address: 127.0.0.1/8\nlinkName: lo\n")
	changed.Metadata.Version = "2"

	return &clienttest.Node{
		Version: &machine.VersionInfo{Tag: "v0.1.0", Sha: "abcdef1", Built: "2026-11-21T09:00:00Z", GoVersion: "go1.26.8", Os: "linux", Arch: "amd64"},
		Services: []*machine.ServiceInfo{
			service("etcd", "Waiting", &machine.ServiceHealth{Unknown: true}, "Waiting for etcd spec"),
			service("kubelet", "Running", &machine.ServiceHealth{Healthy: true}, "Starting", "Started task kubelet (PID 1234)"),
			service("trustd", "Failed", &machine.ServiceHealth{LastMessage: "dial tcp: refused"}, "Exited"),
		},
		Logs: map[string]string{
			"system/kubelet":    "one\ntwo is longer than a chunk\nthree",
			"k8s.io/kube-proxy": "of a pod\n",
		},
		Dmesg: "kern:    info: [2026-11-21T09:30:00Z]: Linux version 6.1\n",
		Memory: &machine.MemInfo{
			Memtotal: 4 << 20, Memfree: 1 << 20, Memavailable: 2 << 20, Buffers: 100 << 10, Cached: 1 << 20, Shmem: 10 << 10,
			Hugepagestotal: 3, Directmap1G: 7,
		},
		Events: []*machine.Event{
			clienttest.Event("1", "", &machine.SequenceEvent{Sequence: "boot", Action: machine.SequenceEvent_START}),
			clienttest.Event("2", "", &machine.SequenceEvent{Sequence: "boot", Error: &common.Error{Message: "no disk"}}),
			clienttest.Event("3", "", &machine.ServiceStateEvent{Service: "etcd", Action: machine.ServiceStateEvent_RUNNING, Message: "Started"}),
			clienttest.Event("4", "", &machine.MachineStatusEvent{
				Stage: machine.MachineStatusEvent_RUNNING,
				Status: &machine.MachineStatusEvent_MachineStatus{
					UnmetConditions: []*machine.MachineStatusEvent_MachineStatus_UnmetCondition{{Name: "services", Reason: "etcd not healthy"}},
				},
			}),
			clienttest.Event("5", "actor-reboot", &machine.PhaseEvent{Phase: "stopServices", Action: machine.PhaseEvent_START}),
			clienttest.Event("6", "actor-reboot", &machine.RestartEvent{Cmd: 0x1234567}),
		},
		Kubeconfig: kubeconfigOf("demo"),
		Health:     []string{"waiting for etcd to be healthy: ...", "waiting for etcd to be healthy: OK"},
		Healthy:    true,
		Warnings:   []string{"machine.logging has no effect yet"},
		Resources: []*cosiapi.Resource{
			definition(definitionsType, "ResourceDefinition", "meta", "rd", "printColumns:\n  - name: Aliases\n    jsonPath: '{.aliases[:]}'\n"),
			definition(addressType, "AddressStatus", "network", "address", "printColumns:\n  - name: Address\n    jsonPath: '{.address}'\n  - name: Link\n    jsonPath: '{.linkName}'\n"),
			definition("Addresses.other.dev", "Address", "other", "address", ""),
			definition("MachineConfigs.config.talos.dev", "MachineConfig", "config", "mc", "sensitivity: sensitive\n"),
			definition("Members.cluster.talos.dev", "Member", "cluster", "member",
				"printColumns:\n  - name: Hostname\n    jsonPath: '{.hostname}'\n  - name: Machine Type\n    jsonPath: '{.machineType}'\n  - name: Addresses\n    jsonPath: '{.addresses}'\n  - name: Since\n    jsonPath: '{.since}'\n"),
			owned,
			clienttest.Resource("network", addressType, "lo/127.0.0.1/8", "address: 127.0.0.1/8\nlinkName: lo\n"),
			clienttest.Resource("config", "MachineConfigs.config.talos.dev", "v1alpha1", "|\n    version: v1alpha1 # the contract\n    machine:\n        type: controlplane # no more\n"),
			clienttest.Resource("config", "MachineConfigs.config.talos.dev", "persistent", "version: v1alpha1 # first\n---\napiVersion: v1alpha1 # second\nkind: HostnameConfig\n"),
			clienttest.Resource("cluster", "Members.cluster.talos.dev", "one", "hostname: one\nmachineType: controlplane\naddresses:\n    - 172.20.0.2\n    - fd00::2\nsince: 2026-11-21T09:30:00Z\n"),
			clienttest.Resource("cluster", "Members.cluster.talos.dev", "two", "hostname: two\n"),
			clienttest.Resource("runtime", "MachineStatuses.runtime.talos.dev", "machine", "stage: running\n"),
		},
		Scripts: scripts(),
		Changes: []*cosiapi.Event{
			{EventType: cosiapi.EventType_CREATED, Resource: gone},
			{EventType: cosiapi.EventType_UPDATED, Resource: changed},
			{EventType: cosiapi.EventType_DESTROYED, Resource: gone},
		},
	}
}

func service(id, state string, health *machine.ServiceHealth, messages ...string) *machine.ServiceInfo {
	s := &machine.ServiceInfo{Id: id, State: state, Health: health, Events: &machine.ServiceEvents{}}
	for _, message := range messages {
		s.Events.Events = append(s.Events.Events, &machine.ServiceEvent{Msg: message, State: state, Ts: timestamppb.New(time.Now().Add(-3 * time.Minute))})
	}

	return s
}

func definition(typ, display, namespace, alias, columns string) *cosiapi.Resource {
	id := lower(typ)
	spec := "type: " + typ + "\ndisplayType: " + display + "\ndefaultNamespace: " + namespace +
		"\naliases: [" + alias + ", " + alias + "s]\nallAliases: [" + lower(display) + ", " + alias + ", " + alias + "s]\n" + columns

	return clienttest.Resource("meta", definitionsType, id, spec)
}
