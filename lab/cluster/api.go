// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/state"
)

// With calls a machine over a new connection: an open one would be retried less and less often.
func (c *Cluster) With(ctx context.Context, n *lab.Node, identity client.Option, call func(context.Context, *client.Client) error) error {
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

// Administrator returns the cluster's own client certificate.
func (c *Cluster) Administrator() client.Option {
	return client.WithCertificates(c.Context.CA, c.Context.Crt, c.Context.Key)
}

// Answers waits until a machine's API answers. A connection to a machine without its address hangs for seconds, so each
// try is short.
func (c *Cluster) Answers(ctx context.Context, n *lab.Node, identity client.Option) error {
	c.At = n

	short := c.Wait
	short.Try, short.Every = time.Second, 100*time.Millisecond

	return short.Until(ctx, "the API of "+n.Name+" answers", func(ctx context.Context) error {
		return c.With(ctx, n, identity, func(ctx context.Context, api *client.Client) error {
			_, err := api.Version(ctx)

			return err
		})
	})
}

// maintenance waits until every machine serves its API.
func (c *Cluster) maintenance(ctx context.Context) error {
	for _, n := range c.Machines.Nodes() {
		c.Wait.Say("waiting for the API of %s (%s, here %s)", n.Name, n.Addr, n.APIEndpoint())

		if err := c.Answers(ctx, n, client.WithInsecure()); err != nil {
			return err
		}
	}

	c.Wait.Say("all machines are in maintenance")

	return nil
}

// Apply sends a configuration to a machine, and returns the machine's answer.
func (c *Cluster) Apply(ctx context.Context, n *lab.Node, identity client.Option, text []byte) (answer *machine.ApplyConfiguration, err error) {
	err = c.With(ctx, n, identity, func(ctx context.Context, api *client.Client) error {
		answer, err = api.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{
			Data: text, Mode: machine.ApplyConfigurationRequest_AUTO,
		})

		return err
	})

	return answer, err
}

// configure applies the configurations of their roles to machines, and says each warning once.
func (c *Cluster) configure(ctx context.Context, nodes []*lab.Node) error {
	for _, n := range nodes {
		c.At = n

		text := forRole(c.Generated, n.Role)

		var warnings []string

		err := c.Wait.Until(ctx, n.Name+" accepts its configuration", func(ctx context.Context) error {
			answer, err := c.Apply(ctx, n, client.WithInsecure(), text)
			warnings = answer.GetWarnings()

			return err
		})
		if err != nil {
			return err
		}

		c.Wait.Say("configuration applied to %s", n.Name)

		for _, warning := range warnings {
			if !slices.Contains(c.warned, warning) {
				c.Wait.Say("  %s", warning)
				c.warned = append(c.warned, warning)
			}
		}
	}

	return nil
}

// Bootstrap starts etcd on the first control plane machine, as soon as the machine allows it.
func (c *Cluster) Bootstrap(ctx context.Context) error {
	n := c.Machines.Node(0)
	c.At = n

	return c.Wait.Until(ctx, n.Name+" can be bootstrapped", func(ctx context.Context) error {
		return c.With(ctx, n, c.Administrator(), func(ctx context.Context, api *client.Client) error {
			err := api.Bootstrap(ctx, &machine.BootstrapRequest{})
			if status.Code(err) == codes.AlreadyExists { // an earlier try succeeded, but its answer was lost
				return nil
			}

			return err
		})
	})
}

// workersAnswer waits until each worker's own API answers through the first control plane machine, which has signed the
// worker's certificate.
func (c *Cluster) workersAnswer(ctx context.Context) error {
	first := c.Machines.Node(0)

	for _, n := range c.ofRole(state.Worker) {
		c.At = n

		err := c.Wait.Until(ctx, "the API of "+n.Name+" answers through "+first.Name, func(ctx context.Context) error {
			return c.With(ctx, first, c.Administrator(), func(ctx context.Context, api *client.Client) error {
				_, err := api.Version(client.WithNode(ctx, n.Addr.String()))

				return err
			})
		})
		if err != nil {
			return err
		}
	}

	c.At = first

	return nil
}
