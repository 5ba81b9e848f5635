// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/state"
)

// maintenance waits until every machine serves its API.
func (c *creation) maintenance(ctx context.Context) error {
	for _, n := range c.machines.Nodes() {
		c.at = n
		c.steps.say("waiting for the API of %s (%s, here %s)", n.Name, n.Addr, n.APIEndpoint())

		err := c.steps.until(ctx, "the API of "+n.Name+" answers", func(ctx context.Context) error {
			return c.with(ctx, n, client.WithInsecure(), func(ctx context.Context, api *client.Client) error {
				_, err := api.Version(ctx)

				return err
			})
		})
		if err != nil {
			return err
		}
	}

	c.steps.say("all machines are in maintenance")

	return nil
}

// configure gives machines the configuration of their role.
func (c *creation) configure(ctx context.Context, configs map[state.Role][]byte, nodes []*lab.Node) error {
	for _, n := range nodes {
		c.at = n

		var warnings []string

		err := c.steps.until(ctx, n.Name+" takes its configuration", func(ctx context.Context) error {
			return c.with(ctx, n, client.WithInsecure(), func(ctx context.Context, api *client.Client) error {
				answer, err := api.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{
					Data: configs[n.Role], Mode: machine.ApplyConfigurationRequest_AUTO,
				})
				warnings = answer.GetWarnings()

				return err
			})
		})
		if err != nil {
			return err
		}

		c.steps.say("configuration applied to %s", n.Name)

		for _, warning := range warnings {
			c.steps.say("  %s", warning)
		}
	}

	return nil
}

// bootstrap starts etcd on the first control plane machine.
func (c *creation) bootstrap(ctx context.Context) error {
	n := c.machines.Node(0)
	c.at = n
	c.steps.say("waiting for %s to run with its configuration, then bootstrap", n.Name)

	err := c.steps.until(ctx, n.Name+" can be bootstrapped", func(ctx context.Context) error {
		return c.authenticated(ctx, n, func(ctx context.Context, api *client.Client) error {
			err := api.Bootstrap(ctx, &machine.BootstrapRequest{})
			if status.Code(err) == codes.AlreadyExists { // an earlier try got through, its answer did not
				return nil
			}

			return err
		})
	})
	if err == nil {
		c.steps.say("bootstrapped")
	}

	return err
}

// workersAnswer waits until each worker's own API answers, through the first control plane machine: it has got its
// certificate from there.
func (c *creation) workersAnswer(ctx context.Context) error {
	first := c.machines.Node(0)

	for _, n := range c.ofRole(state.Worker) {
		c.at = n

		err := c.steps.until(ctx, "the API of "+n.Name+" answers through "+first.Name, func(ctx context.Context) error {
			return c.authenticated(ctx, first, func(ctx context.Context, api *client.Client) error {
				_, err := api.Version(client.WithNode(ctx, n.Addr.String()))

				return err
			})
		})
		if err != nil {
			return err
		}
	}

	c.at = first

	return nil
}

// authenticated calls a machine with the cluster's own client certificate.
func (c *creation) authenticated(ctx context.Context, n *lab.Node, call func(context.Context, *client.Client) error) error {
	return c.with(ctx, n, client.WithCertificates(c.context.CA, c.context.Crt, c.context.Key), call)
}

// with calls a machine over a connection of its own: one that is kept would be
// tried again ever less often.
func (c *creation) with(ctx context.Context, n *lab.Node, identity client.Option, call func(context.Context, *client.Client) error) error {
	if err := c.alive(ctx, n); err != nil {
		return err
	}

	api, err := client.New([]string{n.APIEndpoint()}, identity)
	if err != nil {
		return fmt.Errorf("call %s: %w", n.Name, err)
	}
	defer api.Close()

	return call(ctx, api)
}
