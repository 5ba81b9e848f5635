// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/ctl/kubeconfig"
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
func (c *creation) fetchKubeconfig(ctx context.Context) (*api.Config, error) {
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

	config, err := kubeconfig.Parse(content)
	if err != nil {
		return nil, err
	}

	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + n.KubernetesEndpoint()
	}

	path := c.machines.State().KubeconfigPath()
	if err := kubeconfig.Write(path, config); err != nil {
		return nil, err
	}

	if c.place.own() {
		return config, nil
	}

	return config, c.mergeKubeconfig(config)
}

func (c *creation) mergeKubeconfig(config *api.Config) error {
	path, _, _ := strings.Cut(os.Getenv(clientcmd.RecommendedConfigPathEnvVar), string(filepath.ListSeparator))
	if path == "" {
		path = clientcmd.RecommendedHomeFile
	}

	into, err := kubeconfig.Read(path)
	if err != nil {
		return err
	}

	renames, err := kubeconfig.Merge(into, config.DeepCopy(), kubeconfig.Options{})
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
func (c *creation) nodesReady(ctx context.Context, config *api.Config, machines []*lab.Node) error {
	restConfig, err := clientcmd.NewDefaultClientConfig(*config, nil).ClientConfig()
	if err != nil {
		return fmt.Errorf("use the kubeconfig: %w", err)
	}

	transport, err := rest.HTTPClientFor(restConfig)
	if err != nil {
		return fmt.Errorf("use the kubeconfig: %w", err)
	}
	defer transport.CloseIdleConnections()

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

		nodes, err := listNodes(ctx, transport, restConfig.Host)
		if err != nil {
			return err
		}

		return nodes.ready(wanted)
	})
}

// nodeList is what is looked at of Kubernetes' nodes.
type nodeList struct {
	Items []struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Status struct {
			Addresses []struct {
				Type    string `json:"type"`
				Address string `json:"address"`
			} `json:"addresses"`
			Conditions []struct {
				Type    string `json:"type"`
				Status  string `json:"status"`
				Message string `json:"message"`
			} `json:"conditions"`
		} `json:"status"`
	} `json:"items"`
}

func listNodes(ctx context.Context, transport *http.Client, server string) (*nodeList, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/api/v1/nodes", nil)
	if err != nil {
		return nil, fmt.Errorf("list Kubernetes nodes: %w", err)
	}

	response, err := transport.Do(request)
	if err != nil {
		return nil, fmt.Errorf("list Kubernetes nodes: %w", err)
	}
	defer response.Body.Close()

	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("list Kubernetes nodes: %w", err)
	}

	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("list Kubernetes nodes: %s: %.200s", response.Status, body)
	}

	var list nodeList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("list Kubernetes nodes: answer: %w", err)
	}

	return &list, nil
}

// ready tells which of the wanted nodes, by their addresses, are not ready.
func (l *nodeList) ready(wanted []string) error {
	var missing []string

	for _, address := range wanted {
		missing = append(missing, l.missing(address)...)
	}

	if len(missing) > 0 {
		return fmt.Errorf("%s", strings.Join(missing, "; "))
	}

	return nil
}

func (l *nodeList) missing(address string) []string {
	for _, node := range l.Items {
		found := false
		for _, a := range node.Status.Addresses {
			found = found || a.Type == "InternalIP" && a.Address == address
		}

		if !found {
			continue
		}

		for _, condition := range node.Status.Conditions {
			if condition.Type == "Ready" && condition.Status == "True" {
				return nil
			}

			if condition.Type == "Ready" {
				return []string{fmt.Sprintf("node %s is not ready: %s", node.Metadata.Name, condition.Message)}
			}
		}

		return []string{fmt.Sprintf("node %s has not said that it is ready", node.Metadata.Name)}
	}

	return []string{"node " + address + " is not registered"}
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
