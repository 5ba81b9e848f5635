// SPDX-License-Identifier: Apache-2.0

package clienttest

import (
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/api/machine"
)

// Node is the content of a node's answers. The zero value has empty answers. SetDown makes it unreachable.
type Node struct {
	Version    *machine.VersionInfo
	Services   []*machine.ServiceInfo
	Logs       map[string]string // by namespace/id
	Dmesg      string
	Memory     *machine.MemInfo
	Events     []*machine.Event
	Kubeconfig string
	Health     []string // progress; the last is the error of the check unless Healthy
	Healthy    bool
	Resources  []*cosiapi.Resource
	Rebooted   []*cosiapi.Resource // resources of later boots, instead of those with the same id
	Changes    []*cosiapi.Event    // what a watch sees after the resources
	Warnings   []string            // of ApplyConfiguration
	// Scripts are answers by method, such as machine.MachineService/Processes. They take precedence over the other fields.
	Scripts map[string]Script

	mu           sync.Mutex
	goDown       func()
	down         bool
	bootstrapped bool
	applied      *machine.ApplyConfigurationRequest
	appliedFrom  []string
	// appliedCommit is when the last configuration is to be committed.
	appliedCommit []string
	boots         int
	requests      map[string][]proto.Message
}

// SetDown makes the node unreachable or reachable again.
func (n *Node) SetDown(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()

	n.down = down
}

// Applied returns the last configuration that was sent to the node.
func (n *Node) Applied() *machine.ApplyConfigurationRequest {
	n.mu.Lock()
	defer n.mu.Unlock()

	return n.applied
}

// AppliedFrom returns the configuration that the last one was made from, as it was sent to the node.
func (n *Node) AppliedFrom() []string {
	n.mu.Lock()
	defer n.mu.Unlock()

	return n.appliedFrom
}

// AppliedCommit returns when the last configuration is to be committed, as it was sent to the node.
func (n *Node) AppliedCommit() []string {
	n.mu.Lock()
	defer n.mu.Unlock()

	return n.appliedCommit
}

func (n *Node) reachable() error {
	n.mu.Lock()
	defer n.mu.Unlock()

	if n.down {
		return status.Error(codes.Unavailable, "dial tcp: connect: connection refused")
	}

	return nil
}

// restart makes the node go down after its events are read, and come back in another boot after the given time. With a time of 0
// it stays down.
func (n *Node) restart(down time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()

	n.goDown = func() {
		n.SetDown(true)

		if down == 0 {
			return
		}

		time.AfterFunc(down, func() {
			n.mu.Lock()
			defer n.mu.Unlock()

			n.down = false
			n.boots++
		})
	}
}

// eventsRead is called when a client has seen all events.
func (n *Node) eventsRead() {
	n.mu.Lock()
	goDown := n.goDown
	n.goDown = nil
	n.mu.Unlock()

	if goDown != nil {
		goDown()
	}
}

// resources returns the resources of a kind, as created in the present boot.
func (n *Node) resources(namespace, typ string) []*cosiapi.Resource {
	n.mu.Lock()
	defer n.mu.Unlock()

	var found []*cosiapi.Resource

	for _, r := range n.Resources {
		md := r.GetMetadata()
		if md.GetNamespace() != namespace || md.GetType() != typ {
			continue
		}

		for _, later := range n.Rebooted {
			if now := later.GetMetadata(); n.boots > 0 && now.GetNamespace() == namespace && now.GetType() == typ && now.GetId() == md.GetId() {
				r = later
			}
		}

		r = proto.CloneOf(r)
		r.Metadata.Created = timestamppb.New(md.GetCreated().AsTime().Add(time.Duration(n.boots) * time.Hour))
		found = append(found, r)
	}

	return found
}

// Resource returns a resource of version 1 with the spec given as YAML.
func Resource(namespace, typ, id, spec string) *cosiapi.Resource {
	at := timestamppb.New(time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC))

	return &cosiapi.Resource{
		Metadata: &cosiapi.Metadata{
			Namespace: namespace, Type: typ, Id: id, Version: "1", Phase: "running", Created: at, Updated: at,
		},
		Spec: &cosiapi.Spec{YamlSpec: spec},
	}
}

// Event returns an event as machined sends it.
func Event(id, actor string, payload proto.Message) *machine.Event {
	data, err := proto.Marshal(payload)
	if err != nil {
		panic(err) // messages of a test can be encoded
	}

	url := "talos/runtime/" + string(payload.ProtoReflect().Descriptor().FullName())

	return &machine.Event{Id: id, ActorId: actor, Data: &anypb.Any{TypeUrl: url, Value: data}}
}
