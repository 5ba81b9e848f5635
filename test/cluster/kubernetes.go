// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/kube"
)

// Kubectl runs kubectl as the administrator, with input as its standard input. It must succeed. While the only API server does not answer, as when
// the kubelet of a renamed node replaces it, it is tried again.
func (c *Cluster) Kubectl(input string, args ...string) string {
	c.t.Helper()

	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()

	out, err := c.kubectl(ctx, input, args...)
	for ; err != nil && ctx.Err() == nil && unanswered(err); out, err = c.kubectl(ctx, input, args...) {
		c.say("the API server does not answer, trying again: %v", err)
		time.Sleep(tryEvery)
	}

	if err != nil {
		c.Fail("%v", err)
	}

	return out
}

// unanswered reports whether kubectl's error says that an API server that starts or ends did not take the request. The lab forwards its port, so a
// connection may come about, and end.
func unanswered(err error) bool {
	return slices.ContainsFunc([]string{"connection refused", "was refused", "connection reset", "Unable to connect to the server", "currently unable to handle"},
		func(text string) bool { return strings.Contains(err.Error(), text) })
}

// TryKubectl is Kubectl for tries within Until.
func (c *Cluster) TryKubectl(ctx context.Context, args ...string) (string, error) {
	return c.kubectl(ctx, "", args...)
}

func (c *Cluster) kubectl(ctx context.Context, input string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer

	//program:built kubectl
	cmd := exec.CommandContext(ctx, c.built.Bin("kubectl"), append([]string{"--kubeconfig", c.Lab.State().KubeconfigPath()}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	cmd.Env = append(cmd.Environ(), c.kubecache())

	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}

	return stdout.String(), nil
}

// kubecache is an environment variable that gives kubectl a cache of its own: the user's may be of another cluster at the
// same port.
func (c *Cluster) kubecache() string { return "KUBECACHEDIR=" + c.Lab.State().Dir + "/kubecache" }

// Nodes returns the nodes of Kubernetes.
func (c *Cluster) Nodes(ctx context.Context) ([]kube.Node, error) {
	var list kube.Nodes

	return list.Items, c.read(ctx, "/api/v1/nodes", &list)
}

// read sends one request to the API server. It starts no kubectl, which would use a quarter of a core while it is repeated: the machine that is
// measured would have less of the computer.
func (c *Cluster) read(ctx context.Context, path string, into any) error {
	api, err := c.administrator()
	if err != nil {
		return err
	}

	_, err = api.Find(ctx, path, into)

	return err
}

// administrator returns a client with the kubeconfig as it is now.
func (c *Cluster) administrator() (*kube.Client, error) {
	text, err := os.ReadFile(c.Lab.State().KubeconfigPath())
	if err != nil {
		return nil, err
	}

	c.kubernetes.Lock()
	defer c.kubernetes.Unlock()

	if c.kubernetes.client != nil && bytes.Equal(text, c.kubernetes.text) {
		return c.kubernetes.client, nil
	}

	api, err := kube.NewFromText(text)
	if err != nil {
		return nil, err
	}

	if c.kubernetes.client != nil {
		c.kubernetes.client.Close()
	}

	c.kubernetes.client, c.kubernetes.text = api, text

	return api, nil
}

// Ready waits until the node is Ready in another boot than notBoot, whose status Kubernetes may still have. It returns the
// boot's id.
func (c *Cluster) Ready(notBoot string) (boot string, took time.Duration) {
	c.t.Helper()

	first := c.Emulated() && c.slowness == 0
	if first {
		c.slowness = 2 // nothing is known yet
	}

	took = c.Until("the Kubernetes node is Ready", readyTime, func(ctx context.Context) error {
		nodes, err := c.Nodes(ctx)
		if err != nil {
			return err
		}

		if len(nodes) == 0 {
			return errors.New("Kubernetes has no node")
		}

		for _, n := range nodes {
			boot = n.Status.NodeInfo.BootID
			if boot == notBoot {
				return fmt.Errorf("node %s has not reported since the machine booted", n.Metadata.Name)
			}

			if err := n.Ready(); err != nil {
				return err
			}
		}

		return nil
	})

	if first {
		c.slowness = took.Seconds() / usualReady.Seconds()
	}

	return boot, took
}

// Pod is the part of a pod that tests read.
type Pod struct {
	Metadata struct {
		Name, Namespace, UID string
		Annotations          map[string]string
	}
	Spec struct {
		Containers []struct {
			Image   string
			Command []string
		}
	}
	Status struct {
		Phase             string
		PodIP             string
		Conditions        []struct{ Type, Status string }
		ContainerStatuses []struct {
			RestartCount int
			ContainerID  string
			State        map[string]struct{ Reason, Message string }
		}
	}
}

// Pods returns the pods of a namespace that a label selects, without those that have ended; "" selects all of either.
func (c *Cluster) Pods(ctx context.Context, namespace, selector string) ([]Pod, error) {
	path := "/api/v1/namespaces/" + namespace + "/pods"
	if namespace == "" {
		path = "/api/v1/pods"
	}

	var list struct{ Items []Pod }

	if err := c.read(ctx, path+"?labelSelector="+url.QueryEscape(selector), &list); err != nil {
		return nil, err
	}

	return slices.DeleteFunc(list.Items, func(p Pod) bool { return p.Status.Phase == "Failed" || p.Status.Phase == "Succeeded" }), nil
}

// Ready returns why a pod is not ready, or nil.
func (p Pod) Ready() error {
	for _, condition := range p.Status.Conditions {
		if condition.Type == "Ready" && condition.Status == "True" {
			return nil
		}
	}

	for _, s := range p.Status.ContainerStatuses {
		for state, why := range s.State {
			if state != "running" {
				return fmt.Errorf("pod %s/%s is %s: %s %s", p.Metadata.Namespace, p.Metadata.Name, state, why.Reason, why.Message)
			}
		}
	}

	return fmt.Errorf("pod %s/%s is %s and not ready", p.Metadata.Namespace, p.Metadata.Name, p.Status.Phase)
}

// PodsReady waits until at least so many pods of a namespace exist and all of them are ready.
func (c *Cluster) PodsReady(namespace, selector string, least int) time.Duration {
	c.t.Helper()

	return c.Until(fmt.Sprintf("all pods of %s are ready", namespace), readyTime, func(ctx context.Context) error {
		pods, err := c.Pods(ctx, namespace, selector)
		if err != nil {
			return err
		}

		if len(pods) < least {
			return fmt.Errorf("there are %d pods, want at least %d", len(pods), least)
		}

		for _, p := range pods {
			if err := p.Ready(); err != nil {
				return err
			}
		}

		return nil
	})
}
