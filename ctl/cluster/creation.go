// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/qemu/accel"
	"github.com/seed-59268b81/talos/lab/state"
)

// creation is a cluster in the making.
type creation struct {
	*createFlags
	place  *place
	lab    lab.Options
	config generate.Options

	// emulated machines are slow.
	emulated bool
	// inTurn gives the workers their configuration only when the control plane is ready.
	inTurn bool

	// alive fails for good when a machine is off.
	alive func(context.Context, *lab.Node) error

	steps    *steps
	machines *lab.Lab
	context  *talosconfig.Context
	// at is the machine that is being dealt with, whose console tells more if
	// that fails.
	at *lab.Node
}

// run makes the cluster.
func (c *creation) run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.waitTimeout, fmt.Errorf("timed out after %v (--wait-timeout)", c.waitTimeout))
	defer cancel()

	c.steps = newSteps(out)
	c.steps.say("creating cluster %s: %s, %s%s", c.place.name,
		count(c.controlPlanes, "control plane"), count(c.workers, "worker"), map[bool]string{true: ", offline"}[c.offline])

	machines, err := lab.Create(ctx, c.lab)
	if err != nil {
		return err
	}

	c.begin(machines, alive)

	status, err := machines.Status(ctx)
	if err != nil {
		return err
	}

	if status.Accel != "" {
		c.steps.say("virtual machines are on, with %s (%s)", status.Accel, status.AccelWhy)
	}

	if status.Containers != "" {
		c.steps.say("containers are on, with %s", status.Containers)
	}

	c.emulated = status.Accel == (accel.Accel{}).Name()
	// Emulated machines share this computer's cores: workers that wait for their control plane would only slow it down.
	c.inTurn = c.emulated && c.wait && c.workers > 0

	// From here on there is something to look at, so it stays.
	if err := c.make(ctx); err != nil {
		return &creationError{err: err, c: c}
	}

	c.next(out)

	return nil
}

// begin takes up running machines.
func (c *creation) begin(machines *lab.Lab, alive func(context.Context, *lab.Node) error) {
	c.machines, c.at, c.alive = machines, machines.Node(0), alive
}

// make turns running machines into a cluster.
func (c *creation) make(ctx context.Context) error {
	if err := c.maintenance(ctx); err != nil || c.skipConfig {
		return err
	}

	configs, err := c.generated()
	if err != nil {
		return err
	}

	first := c.machines.Nodes()
	if c.inTurn {
		first = c.ofRole(state.ControlPlane)
	}

	if err := c.configure(ctx, configs, first); err != nil {
		return err
	}

	if err := c.bootstrap(ctx); err != nil || !c.wait {
		return err
	}

	return c.kubernetes(ctx, configs)
}

// ofRole are the machines that are to be control planes, or workers.
func (c *creation) ofRole(role state.Role) []*lab.Node {
	return slices.DeleteFunc(slices.Clone(c.machines.Nodes()), func(n *lab.Node) bool { return n.Role != role })
}

// alive fails for good when a machine is off: waiting for it has no end.
func alive(ctx context.Context, n *lab.Node) error {
	status, err := n.Status(ctx)
	if err != nil {
		return finalError{err}
	}

	if status.Machine.Power != machine.On {
		return finalError{fmt.Errorf("the machine is off: %s", status.Machine.Why)}
	}

	return nil
}

// alone is for a control plane node that is the only one, and so has nobody to elect a leader with. An emulated one may be too
// slow to renew the lease within its 10 s, upon which the component starts anew, which makes it slower still.
const alone = `cluster: {controllerManager: {extraArgs: {leader-elect: "false"}}, scheduler: {extraArgs: {leader-elect: "false"}}}`

// shared is for a cluster with containers in it. kube-proxy runs with the same arguments on all nodes, and may not set the size of
// a kernel's table of connections on those. A control plane that is a container knows that by itself.
const shared = `cluster: {proxy: {extraArgs: {conntrack-max-per-core: "0", conntrack-min: "0"}}}`

// OwnPatches returns the patches of the control planes that follow from what the machines are, and from whether the virtual
// ones are emulated.
func OwnPatches(nodes []state.Node, emulated bool) []string {
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

// generated writes the machines' configurations and the client's into the
// cluster's directory, and returns the configurations by role.
func (c *creation) generated() (map[state.Role][]byte, error) {
	s := c.machines.State()
	first := c.machines.Node(0)
	options := c.config

	controlPlanes := c.ofRole(state.ControlPlane)

	for _, n := range controlPlanes {
		options.AdditionalSANs = append(options.AdditionalSANs, n.Addr.String())
		options.Endpoints = append(options.Endpoints, n.APIEndpoint())
	}

	options.Nodes = []string{first.Addr.String()}

	own, err := patch.Load(OwnPatches(s.Nodes, c.emulated))
	if err != nil {
		return nil, err
	}

	// Those of the user have the last word.
	options.ControlPlanePatches = slices.Concat(own, options.ControlPlanePatches)

	made, err := generate.New(c.place.name, "https://"+netip.AddrPortFrom(first.Addr, contract.KubernetesPort).String(), c.kubernetesVersion, options)
	if err != nil {
		return nil, err
	}

	if err := os.MkdirAll(s.ConfigsPath(), 0o700); err != nil {
		return nil, fmt.Errorf("write the machine configurations: %w", err)
	}

	for path, content := range map[string][]byte{
		filepath.Join(s.ConfigsPath(), "controlplane.yaml"): made.ControlPlane,
		filepath.Join(s.ConfigsPath(), "worker.yaml"):       made.Worker,
		s.TalosconfigPath(): made.Talosconfig,
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return nil, fmt.Errorf("write the configurations: %w", err)
		}
	}

	config, err := talosconfig.Decode(made.Talosconfig)
	if err != nil {
		return nil, err
	}

	if c.context, err = config.Find(""); err != nil {
		return nil, err
	}

	if err := c.mergeTalosconfig(config); err != nil {
		return nil, err
	}

	return map[state.Role][]byte{state.ControlPlane: made.ControlPlane, state.Worker: made.Worker}, nil
}

// mergeTalosconfig puts the client configuration where its user wants it.
func (c *creation) mergeTalosconfig(config *talosconfig.Config) error {
	path := c.talosconfig

	if path == "" {
		if c.place.own() {
			return nil
		}

		var err error
		if path, err = talosconfig.Path(""); err != nil {
			return err
		}
	}

	into, err := talosconfig.LoadOrNew(path)
	if err != nil {
		return err
	}

	for _, renamed := range into.Merge(config) {
		c.steps.say("%s", renamed)
	}

	if err := into.Save(path); err != nil {
		return err
	}

	c.steps.say("talosconfig merged into %s", path)

	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}

	return fmt.Sprintf("%d %ss", n, what)
}
