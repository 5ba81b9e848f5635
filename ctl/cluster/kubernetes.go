// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/state"
)

// kubernetes waits until the cluster is ready and leaves a kubeconfig.
func (c *creation) kubernetes(ctx context.Context, configs map[state.Role][]byte) error {
	c.at = c.machines.Node(0)

	config, err := c.fetchKubeconfig(ctx)
	if err != nil {
		return err
	}

	if c.inTurn {
		if err := c.nodesReady(ctx, config, c.ofRole(state.ControlPlane)); err != nil {
			return err
		}

		if err := c.configure(ctx, configs, c.ofRole(state.Worker)); err != nil {
			return err
		}
	}

	if err := c.nodesReady(ctx, config, c.machines.Nodes()); err != nil {
		return err
	}

	if err := c.workersAnswer(ctx); err != nil {
		return err
	}

	c.steps.say("all nodes are ready; checking the cluster's health")

	return c.healthy(ctx)
}

// fetchKubeconfig gets a kubeconfig, whose server is the forwarded port, and puts
// it where its user wants it.
func (c *creation) fetchKubeconfig(ctx context.Context) (*kubeconfig.File, error) {
	var content []byte

	n := c.machines.Node(0)

	err := c.steps.until(ctx, n.Name+" gives a kubeconfig", func(ctx context.Context) error {
		return c.authenticated(ctx, n, func(ctx context.Context, api *client.Client) (err error) {
			content, err = api.Kubeconfig(ctx)

			return err
		})
	})
	if err != nil {
		return nil, err
	}

	config, err := kubeconfig.ParseFile(content)
	if err != nil {
		return nil, err
	}

	config.SetServer("https://" + n.KubernetesEndpoint())

	path := c.machines.State().KubeconfigPath()
	if err := kubeconfig.Write(path, config); err != nil {
		return nil, err
	}

	if c.place.own() {
		return config, nil
	}

	return config, c.mergeKubeconfig(config)
}

func (c *creation) mergeKubeconfig(config *kubeconfig.File) error {
	path, err := kubeconfig.UserPath()
	if err != nil {
		return err
	}

	into, err := kubeconfig.Read(path)
	if err != nil {
		return err
	}

	renames, err := kubeconfig.Merge(into, config, kubeconfig.Options{})
	if err != nil {
		return fmt.Errorf("merge kubeconfig: %w", err)
	}

	for _, r := range renames {
		c.steps.say("renamed kubeconfig %s %q -> %q", r.Section, r.From, r.To)
	}

	if err := kubeconfig.Write(path, into); err != nil {
		return err
	}

	c.steps.say("kubeconfig merged into %s", path)

	return nil
}

// nodesReady waits until each of the machines is a Ready node of Kubernetes.
func (c *creation) nodesReady(ctx context.Context, config *kubeconfig.File, machines []*lab.Node) error {
	access, err := config.Config()
	if err != nil {
		return err
	}

	cluster, err := kube.New(access)
	if err != nil {
		return err
	}
	defer cluster.Close()

	var wanted []string
	for _, n := range machines {
		wanted = append(wanted, n.Addr.String())
	}

	c.steps.say("waiting for %s in Kubernetes (https://%s)", count(len(machines), "ready node"), c.machines.Node(0).KubernetesEndpoint())

	return c.steps.until(ctx, fmt.Sprintf("Kubernetes has %s", count(len(machines), "ready node")), func(ctx context.Context) error {
		for _, n := range c.machines.Nodes() {
			if err := c.alive(ctx, n); err != nil {
				return fmt.Errorf("%s: %w", n.Name, err)
			}
		}

		nodes, err := cluster.Nodes(ctx)
		if err != nil {
			return err
		}

		return nodes.Ready(wanted)
	})
}

// healthy has the first machine check the cluster.
func (c *creation) healthy(ctx context.Context) error {
	request := &cluster.HealthCheckRequest{ClusterInfo: &cluster.ClusterInfo{}}

	if deadline, ok := ctx.Deadline(); ok {
		request.WaitTimeout = durationpb.New(c.steps.left(deadline))
	}

	// The stream lasts as long as the check, so it is no try of a short time.
	return c.authenticated(ctx, c.at, func(ctx context.Context, api *client.Client) error {
		var said []string

		for message, err := range api.HealthCheck(ctx, request) {
			if status.Code(err) == codes.Unimplemented {
				return nil // an older system
			}

			if err != nil {
				return err
			}

			if !slices.Contains(said, message) {
				c.steps.say("  %s", message)

				said = append(said, message)
			}
		}

		return nil
	})
}
