// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/lab/state"
)

// Options returns the options for configurations of a lab's machines: their disk, the address 127.0.0.1 for clients on
// this computer, and for an offline lab no discovery service. The contract is the oldest one, so that patches can have all
// keys of the v1alpha1 document.
func Options(workers int, offline bool) generate.Options {
	return generate.Options{
		Contract: generate.Oldest, InstallDisk: "/dev/vda", AdditionalSANs: []string{"127.0.0.1"}, NoClusterDiscovery: offline,
		AllowSchedulingOnControlPlanes: workers == 0,
	}
}

// alone is for a single control plane node, which needs no leader election. An emulated one may be too slow to renew
// the lease within its 10 s. The component would then start again, which makes the node still slower.
const (
	alone = `cluster: {controllerManager: {extraArgs: {leader-elect: "false"}}, scheduler: {extraArgs: {leader-elect: "false"}}}`

	aloneDocuments = `{apiVersion: v1alpha1, kind: KubeControllerManagerConfig, extraArgs: {leader-elect: "false"}}
---
{apiVersion: v1alpha1, kind: KubeSchedulerConfig, extraArgs: {leader-elect: "false"}}`
)

// shared is for a cluster with containers. kube-proxy runs with the same arguments on all nodes, and in a container it
// cannot set the size of the kernel's connection table. A control plane that is a container configures that itself.
const (
	shared          = `cluster: {proxy: {extraArgs: {conntrack-max-per-core: "0", conntrack-min: "0"}}}`
	sharedDocuments = `{apiVersion: v1alpha1, kind: KubeProxyConfig, extraArgs: {conntrack-max-per-core: "0", conntrack-min: "0"}}`
)

// ownPatches returns the patches of the control planes for the kinds of machines in the lab.
func ownPatches(nodes []state.Node, emulated bool, contract generate.Contract) []string {
	alone, shared := alone, shared
	if contract >= generate.Documents {
		alone, shared = aloneDocuments, sharedDocuments
	}

	var (
		patches       []string
		controlPlanes int
		containers    bool
	)

	for i := range nodes {
		if nodes[i].Role == state.ControlPlane {
			controlPlanes++
		}

		containers = containers || nodes[i].As() == state.Container
	}

	if emulated && controlPlanes == 1 {
		patches = append(patches, alone)
	}

	if containers {
		patches = append(patches, shared)
	}

	return patches
}

// configurations generates the configurations of the roles in a lab, which need not run yet.
func configurations(s *state.Lab, emulated bool, kubernetesVersion string, options generate.Options) (*generate.Output, error) {
	first := s.Nodes[0].Addr

	options.AdditionalSANs = slices.Clone(options.AdditionalSANs)
	options.Nodes = []string{first.String()}

	for _, n := range s.Nodes {
		if n.Role == state.ControlPlane {
			options.AdditionalSANs = append(options.AdditionalSANs, n.Addr.String())
		}
	}

	own, err := patch.Load(ownPatches(s.Nodes, emulated, options.Contract))
	if err != nil {
		return nil, err
	}

	// The user's patches override these.
	options.ControlPlanePatches = slices.Concat(own, options.ControlPlanePatches)

	return generate.New(s.Name, "https://"+netip.AddrPortFrom(s.KubernetesAddr(), contract.KubernetesPort).String(), kubernetesVersion, options)
}

// forRole returns the configuration of a role.
func forRole(made *generate.Output, role state.Role) []byte {
	if role == state.Worker {
		return made.Worker
	}

	return made.ControlPlane
}

// Generate generates the machines' configurations and the talosconfig.
func (c *Cluster) Generate(kubernetesVersion string, options generate.Options) error {
	for _, n := range c.ofRole(state.ControlPlane) {
		options.Endpoints = append(options.Endpoints, n.APIEndpoint())
	}

	made, err := configurations(c.Machines.State(), c.Emulated, kubernetesVersion, options)
	if err != nil {
		return err
	}

	if c.talosconfig, err = talosconfig.Decode(made.Talosconfig); err != nil {
		return err
	}

	c.Generated = made
	c.Context, err = c.talosconfig.Find("")

	return err
}

// WriteConfigurations writes the machines' configurations and the talosconfig into the lab's directory.
func (c *Cluster) WriteConfigurations() error {
	s := c.Machines.State()

	if err := os.MkdirAll(s.ConfigsPath(), 0o700); err != nil {
		return fmt.Errorf("write the machine configurations: %w", err)
	}

	for path, content := range map[string][]byte{
		filepath.Join(s.ConfigsPath(), "controlplane.yaml"): c.Generated.ControlPlane,
		filepath.Join(s.ConfigsPath(), "worker.yaml"):       c.Generated.Worker,
		s.TalosconfigPath(): c.Generated.Talosconfig,
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return fmt.Errorf("write the configurations: %w", err)
		}
	}

	return nil
}
