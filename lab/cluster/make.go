// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"strings"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/state"
)

// Plan describes a cluster to make.
type Plan struct {
	KubernetesVersion string
	Config            generate.Options
	// Unconfigured leaves the machines in maintenance.
	Unconfigured bool
	// Injected machines get their configuration by themselves, see UserData.
	Injected bool
	// Ready waits until Kubernetes is ready.
	Ready bool
	// Talosconfig and Kubeconfig are called with the administrator's configurations.
	Talosconfig func(*talosconfig.Config) error
	Kubeconfig  func(*kubeconfig.File) error
}

// Make makes running machines a cluster.
func (c *Cluster) Make(ctx context.Context, p Plan) error {
	if p.Injected {
		return c.injected(ctx, p)
	}

	if err := c.maintenance(ctx); err != nil || p.Unconfigured {
		return err
	}

	if err := c.generate(p); err != nil {
		return err
	}

	// Emulated machines share this computer's cores: waiting workers would slow down their control plane.
	first, later := c.Machines.Nodes(), []*lab.Node(nil)
	if c.Emulated && p.Ready {
		first, later = c.ofRole(state.ControlPlane), c.ofRole(state.Worker)
	}

	if err := c.configure(ctx, first); err != nil {
		return err
	}

	return c.bootstrap(ctx, p, first, later)
}

// injected makes machines a cluster that get their configuration by themselves.
func (c *Cluster) injected(ctx context.Context, p Plan) error {
	if err := c.generate(p); err != nil {
		return err
	}

	return c.bootstrap(ctx, p, c.Machines.Nodes(), nil)
}

// bootstrap bootstraps a cluster whose first machines have their configuration.
func (c *Cluster) bootstrap(ctx context.Context, p Plan, first, later []*lab.Node) error {
	c.Wait.Say("waiting for %s to run with its configuration, then bootstrap", c.Machines.Node(0).Name)

	if err := c.Bootstrap(ctx); err != nil {
		return err
	}

	c.Wait.Say("bootstrapped")

	if !p.Ready {
		return nil
	}

	return c.kubernetes(ctx, p, first, later)
}

func (c *Cluster) generate(p Plan) error {
	if err := c.Generate(p.KubernetesVersion, p.Config); err != nil {
		return err
	}

	if err := c.WriteConfigurations(); err != nil {
		return err
	}

	return p.Talosconfig(c.talosconfig)
}

// kubernetes waits until the cluster is ready. The later machines get their configuration when the first ones are
// ready.
func (c *Cluster) kubernetes(ctx context.Context, p Plan, first, later []*lab.Node) error {
	config, err := c.Kubeconfig(ctx)
	if err != nil {
		return err
	}

	if err := p.Kubeconfig(config); err != nil {
		return err
	}

	if err := c.nodesReady(ctx, config, first); err != nil {
		return err
	}

	if len(later) > 0 {
		if err := c.configure(ctx, later); err != nil {
			return err
		}

		if err := c.nodesReady(ctx, config, c.Machines.Nodes()); err != nil {
			return err
		}
	}

	if err := c.workersAnswer(ctx); err != nil {
		return err
	}

	c.Wait.Say("all nodes are ready; checking the cluster's health")

	said := map[string]bool{}

	return c.Healthy(ctx, func(message string) {
		if !said[message] {
			c.Wait.Say("  %s", strings.ReplaceAll(strings.TrimSpace(message), "\n", "; "))

			said[message] = true
		}
	})
}
