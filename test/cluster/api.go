// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/lab"
)

// These limits are many times the usual duration, for machines that are emulated on two shared cores.
const (
	bootTime  = 5 * time.Minute
	readyTime = 15 * time.Minute
)

// With calls the machine over a connection of its own.
func (c *Cluster) With(ctx context.Context, identity client.Option, call func(context.Context, *client.Client) error) error {
	return c.cluster.With(ctx, c.Node, identity, call)
}

// API calls the machine as the administrator.
func (c *Cluster) API(ctx context.Context, call func(context.Context, *client.Client) error) error {
	return c.With(ctx, c.cluster.Administrator(), call)
}

// APIOf calls a machine as the administrator.
func (c *Cluster) APIOf(ctx context.Context, n *lab.Node, call func(context.Context, *client.Client) error) error {
	return c.cluster.With(ctx, n, c.cluster.Administrator(), call)
}

// Do is API for a call that must succeed.
func (c *Cluster) Do(what string, call func(context.Context, *client.Client) error) {
	c.t.Helper()

	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()

	if err := c.API(ctx, call); err != nil {
		c.Fail("%s: %v", what, err)
	}
}

// Maintenance waits until the API of a machine without a configuration answers.
func (c *Cluster) Maintenance() time.Duration {
	c.t.Helper()

	return c.within(bootTime, func(ctx context.Context) error { return c.cluster.Answers(ctx, c.Node, client.WithInsecure()) })
}

// Answers waits until the API of a configured machine answers.
func (c *Cluster) Answers() time.Duration {
	c.t.Helper()

	return c.within(bootTime, func(ctx context.Context) error { return c.cluster.Answers(ctx, c.Node, c.cluster.Administrator()) })
}

// ApplyInsecure sends a configuration to a machine in maintenance.
func (c *Cluster) ApplyInsecure(ctx context.Context, text []byte) error {
	_, err := c.cluster.Apply(ctx, c.Node, client.WithInsecure(), text)

	return err
}

// Apply sends a configuration as the administrator, and returns the node's answer. It is for good: tests break machines with it.
func (c *Cluster) Apply(text []byte) *machine.ApplyConfiguration {
	c.t.Helper()

	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()

	answer, err := c.cluster.Apply(client.CommitNow(ctx), c.Node, c.cluster.Administrator(), text)
	if err != nil {
		c.Fail("apply a configuration: %v", err)
	}

	return answer
}

// Bootstrap starts etcd as soon as the machine allows it.
func (c *Cluster) Bootstrap() {
	c.t.Helper()
	c.within(bootTime, c.cluster.Bootstrap)
}

// Kubeconfig fetches a kubeconfig whose server is the forwarded port, and writes all configurations of users.
func (c *Cluster) Kubeconfig() {
	c.t.Helper()
	c.within(bootTime, func(ctx context.Context) error {
		_, err := c.cluster.Kubeconfig(ctx)

		return err
	})

	c.WriteConfigurations()
}

// WriteConfigurations writes all configurations of users but the kubeconfig, which talosctl needs.
func (c *Cluster) WriteConfigurations() {
	c.t.Helper()

	if err := c.cluster.WriteConfigurations(); err != nil {
		c.t.Fatal(err)
	}
}

// Healthy waits until the node finds the whole cluster healthy.
func (c *Cluster) Healthy() {
	c.t.Helper()

	last := ""

	c.within(readyTime, func(ctx context.Context) error {
		return c.cluster.Healthy(ctx, func(message string) { last = message })
	})

	if want := "waiting for all k8s nodes to report schedulable: OK"; last != want {
		c.Fail("health: the last line is %q, want %q", last, want)
	}
}

// Resource reads one resource and decodes its spec into the target; it returns its version.
func (c *Cluster) Resource(ctx context.Context, namespace, kind, id string, into any) (version string, err error) {
	err = c.API(ctx, func(ctx context.Context, api *client.Client) error {
		r, err := api.Resource(ctx, client.Kind{Namespace: namespace, Type: kind}, id)
		if err != nil {
			return err
		}

		version = r.GetMetadata().GetVersion()

		if into == nil {
			return nil
		}

		if err := yaml.Unmarshal([]byte(r.GetSpec().GetYamlSpec()), into); err != nil {
			return fmt.Errorf("spec of %s %s: %w", kind, id, err)
		}

		return nil
	})

	return version, err
}

// Talosctl runs talosctl as the administrator and returns its output. It must succeed.
func (c *Cluster) Talosctl(args ...string) string {
	c.t.Helper()

	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()

	//program:built talosctl
	cmd := exec.CommandContext(ctx, c.built.Bin("talosctl"), args...)
	cmd.Env = append(os.Environ(), "TALOSCONFIG="+c.Lab.State().TalosconfigPath())

	out, err := cmd.CombinedOutput()
	if err != nil {
		c.Fail("talosctl %s: %v: %s", strings.Join(args, " "), err, out)
	}

	return string(out)
}

// Console returns the console log of the latest boot.
func (c *Cluster) Console() string {
	text, err := os.ReadFile(c.Node.ConsolePath())
	if err != nil {
		return ""
	}

	return string(text)
}
