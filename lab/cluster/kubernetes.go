// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/lab"
)

// Kubeconfig waits until the first machine returns a kubeconfig, sets a port of this computer that leads to Kubernetes as its server, and writes it
// into the lab's directory.
func (c *Cluster) Kubeconfig(ctx context.Context) (*kubeconfig.File, error) {
	var content []byte

	n := c.Machines.Node(0)
	c.At = n

	err := c.Wait.Until(ctx, n.Name+" returns a kubeconfig", func(ctx context.Context) error {
		return c.With(ctx, n, c.Administrator(), func(ctx context.Context, api *client.Client) (err error) {
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

	config.SetServer("https://" + c.Machines.KubernetesEndpoint())

	return config, kubeconfig.Write(c.Machines.State().KubeconfigPath(), config)
}

// nodesReady waits until each of the machines is a Ready node of Kubernetes.
func (c *Cluster) nodesReady(ctx context.Context, file *kubeconfig.File, machines []*lab.Node) error {
	config, err := file.Config()
	if err != nil {
		return err
	}

	kubernetes, err := kube.New(config)
	if err != nil {
		return err
	}
	defer kubernetes.Close()

	var wanted []string
	for _, n := range machines {
		wanted = append(wanted, n.Addr.String())
	}

	nodes := fmt.Sprintf("%d ready nodes", len(machines))
	if len(machines) == 1 {
		nodes = "1 ready node"
	}

	c.Wait.Say("waiting for %s in Kubernetes (https://%s)", nodes, c.Machines.KubernetesEndpoint())

	return c.Wait.Until(ctx, "Kubernetes has "+nodes, func(ctx context.Context) error {
		for _, n := range c.Machines.Nodes() {
			if err := c.alive(ctx, n); err != nil {
				return fmt.Errorf("%s: %w", n.Name, err)
			}
		}

		list, err := kubernetes.Nodes(ctx)
		if err != nil {
			return err
		}

		return list.Ready(wanted)
	})
}

// Healthy makes the first machine check the cluster until the context's deadline, and calls said with each message.
func (c *Cluster) Healthy(ctx context.Context, said func(message string)) error {
	request := &cluster.HealthCheckRequest{ClusterInfo: &cluster.ClusterInfo{}}

	if deadline, ok := ctx.Deadline(); ok {
		// Some of the time is reserved for the answer.
		request.WaitTimeout = durationpb.New(max(time.Until(deadline)-time.Second, time.Second))
	}

	// The stream lasts as long as the check, so it has no short timeout.
	return c.With(ctx, c.Machines.Node(0), c.Administrator(), func(ctx context.Context, api *client.Client) error {
		for message, err := range api.HealthCheck(ctx, request) {
			if status.Code(err) == codes.Unimplemented {
				return nil // an older system
			}

			if err != nil {
				return err
			}

			said(message)
		}

		return nil
	})
}
