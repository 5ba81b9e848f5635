// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/ctl/session"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/lab"
	labcluster "github.com/seed-59268b81/talos/lab/cluster"
)

// creation is a cluster that is being created.
type creation struct {
	*createFlags
	place  *place
	config generate.Options

	steps   *steps
	cluster *labcluster.Cluster
}

// run creates the cluster.
func (c *creation) run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.waitTimeout, fmt.Errorf("timed out after %v (--wait-timeout)", c.waitTimeout))
	defer cancel()

	c.steps = newSteps(out)
	c.steps.say("creating cluster %s: %s, %s%s", c.place.name,
		english.Plural(c.lab.ControlPlanes, "control plane", ""), english.Plural(c.lab.Workers, "worker", ""), map[bool]string{true: ", offline"}[c.lab.Offline])

	machines, err := lab.Create(ctx, c.lab)
	if err != nil {
		return err
	}

	c.begin(machines)

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

	c.cluster.Emulated = labcluster.Emulated(status)

	// After a failure from here on, the machines are kept for inspection.
	if err := c.make(ctx); err != nil {
		return &creationError{err: err, c: c}
	}

	c.next(out)

	return nil
}

// begin sets the cluster to running machines.
func (c *creation) begin(machines *lab.Lab) {
	c.cluster = labcluster.New(machines, labcluster.Wait{
		Say: c.steps.say, Try: 10 * time.Second, Every: 250 * time.Millisecond, Final: labcluster.Final,
	})
	c.cluster.Alive = labcluster.Alive
}

// make creates a cluster of the running machines.
func (c *creation) make(ctx context.Context) error {
	return c.cluster.Make(ctx, labcluster.Plan{
		KubernetesVersion: c.kubernetesVersion, Config: c.config,
		Unconfigured: c.skipConfig, Injected: c.lab.UserData != nil, Ready: c.wait,
		Talosconfig: c.mergeTalosconfig, Kubeconfig: c.mergeKubeconfig,
	})
}

// mergeTalosconfig merges the client configuration into the file of the flags or the user.
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

// mergeKubeconfig merges the kubeconfig into the user's file, unless the cluster keeps its files in its directory.
func (c *creation) mergeKubeconfig(config *kubeconfig.File) error {
	if c.place.own() {
		return nil
	}

	path, err := kubeconfig.UserPath()
	if err != nil {
		return err
	}

	if err := session.MergeKubeconfig(path, config, kubeconfig.Options{}, func(r kubeconfig.Rename) {
		c.steps.say("renamed kubeconfig %s %q -> %q", r.Section, r.From, r.To)
	}); err != nil {
		return err
	}

	c.steps.say("kubeconfig merged into %s", path)

	return nil
}

// steps prints lines with the time since the beginning.
type steps struct {
	out   io.Writer
	start time.Time
}

func newSteps(out io.Writer) *steps { return &steps{out: out, start: time.Now()} }

func (s *steps) say(format string, args ...any) {
	fmt.Fprintf(s.out, "%7.1fs  %s\n", time.Since(s.start).Seconds(), fmt.Sprintf(format, args...))
}
