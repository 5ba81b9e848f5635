// SPDX-License-Identifier: Apache-2.0

// Package controllertest runs controllers on a state in memory, and fakes what they depend on: the configuration, the network, the
// clock, the volumes and the supervisor.
package controllertest

import (
	"context"
	"net/netip"
	"sync"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/network"
	runtimeres "github.com/seed-59268b81/talos/resources/runtime"
	serviceres "github.com/seed-59268b81/talos/resources/service"
	timeres "github.com/seed-59268b81/talos/resources/time"
	"github.com/seed-59268b81/talos/service/supervisor"
)

// Node is a state with running controllers.
type Node struct {
	*cositest.Environment

	t testing.TB
}

// Start runs the controllers until the test ends. A controller that changes a resource that it has read fails the test.
func Start(t testing.TB, controllers ...controller.Controller) *Node {
	t.Helper()

	return StartOn(t, memory.New(), controllers...)
}

// StartOn is Start on a state, which other parts of the machine have, too.
func StartOn(t testing.TB, st state.State, controllers ...controller.Controller) *Node {
	t.Helper()

	all := make([]cositest.Named, len(controllers))
	for i, c := range controllers {
		all[i] = c
	}

	return &Node{Environment: cositest.StartOn(t, st, all...), t: t}
}

// Set writes a resource that no controller owns.
func Set[S resource.Spec](n *Node, id string, spec S) {
	n.t.Helper()
	cositest.Set(n.Environment, id, spec)
}

// Wait returns the spec of a resource once it exists and satisfies the condition, which may be nil.
func Wait[S resource.Spec](n *Node, id string, condition func(S) bool) S {
	n.t.Helper()

	return cositest.Wait(n.Environment, id, condition)
}

// Version returns the current version of a resource.
func Version[S resource.Spec](n *Node, id string) uint64 {
	n.t.Helper()

	return cositest.Version[S](n.Environment, id)
}

// Address of the node that Ready describes.
var Address = netip.MustParsePrefix("172.20.0.2/24")

// Ready sets the resources of a control plane after its boot: a generated configuration, network and time.
func (n *Node) Ready(opts generate.Options) *config.Config {
	n.t.Helper()

	out, err := generate.New("test", "https://172.20.0.2:6443", "", opts)
	if err != nil {
		n.t.Fatal(err)
	}

	return n.ReadyWith(out.ControlPlane)
}

// ReadyWith is Ready with the given configuration.
func (n *Node) ReadyWith(text []byte) *config.Config {
	n.t.Helper()

	cfg := n.Configure(text)

	Set(n, configres.MachineTypeID, configres.MachineTypeSpec{MachineType: configres.TypeControlPlane})
	n.Hostname("cp1")

	for _, id := range []string{
		network.NodeAddressDefaultID, network.NodeAddressCurrentID, network.NodeAddressRoutedID, network.NodeAddressAccumulativeID,
	} {
		Set(n, id, network.NodeAddressSpec{Addresses: []netip.Prefix{Address}})
		Set(n, network.FilteredNodeAddressID(id, network.NodeAddressFilterNoK8s), network.NodeAddressSpec{Addresses: []netip.Prefix{Address}})
	}

	Set(n, network.StatusID, network.StatusSpec{AddressReady: true, ConnectivityReady: true, HostnameReady: true, EtcFilesReady: true})
	Set(n, timeres.StatusID, timeres.StatusSpec{Synced: true})
	Set(n, files.PodResolvConf, files.EtcFileStatusSpec{})
	Set(n, runtimeres.EnvironmentID, runtimeres.EnvironmentSpec{})

	return cfg
}

// Configure sets the active configuration.
func (n *Node) Configure(text []byte) *config.Config {
	n.t.Helper()

	cfg, err := config.Decode(text)
	if err != nil {
		n.t.Fatal(err)
	}

	Set(n, configres.ActiveID, configres.NewMachineConfigSpec(cfg))

	return cfg
}

// Hostname sets the host's name.
func (n *Node) Hostname(name string) {
	n.t.Helper()
	Set(n, network.HostnameID, network.HostnameStatusSpec{Hostname: name})
}

// Service sets the resource of a running service.
func (n *Node) Service(id string, healthy bool) {
	n.t.Helper()
	Set(n, id, serviceres.ServiceSpec{Running: true, Healthy: healthy})
}

// Supervisor is a fake that records the services.
type Supervisor struct {
	mu       sync.Mutex
	services map[string]supervisor.Service
	applied  map[string]int
}

// Apply implements the part of the supervisor that controllers use.
func (s *Supervisor) Apply(svc supervisor.Service) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.services == nil {
		s.services, s.applied = map[string]supervisor.Service{}, map[string]int{}
	}

	if held, ok := s.services[svc.ID]; !ok || held.Fingerprint != svc.Fingerprint {
		s.services[svc.ID] = svc
		s.applied[svc.ID]++
	}

	return nil
}

// Remove implements the part of the supervisor that controllers use.
func (s *Supervisor) Remove(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	delete(s.services, id)

	return nil
}

// Service returns the service with an id, and how often it was started or changed.
func (s *Supervisor) Service(id string) (svc supervisor.Service, times int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	svc, ok = s.services[id]

	return svc, s.applied[id], ok
}
