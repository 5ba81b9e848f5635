// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/test/cluster"
)

// patched returns the machine's configuration with a patch.
func patched(t *testing.T, c *cluster.Cluster, change string) []byte {
	t.Helper()

	p, err := patch.Parse([]byte(change))
	if err != nil {
		t.Fatal(err)
	}

	text, err := patch.Apply(c.Generated.ControlPlane, p)
	if err != nil {
		t.Fatal(err)
	}

	return text
}

// component returns the static pod of a component as Kubernetes shows it.
func component(ctx context.Context, c *cluster.Cluster, name string) (cluster.Pod, error) {
	pods, err := c.Pods(ctx, "kube-system", "k8s-app="+name)
	if err != nil {
		return cluster.Pod{}, err
	}

	if len(pods) != 1 {
		return cluster.Pod{}, fmt.Errorf("there are %d pods of %s, want 1", len(pods), name)
	}

	return pods[0], nil
}

// staticPodsRoll changes the configuration of two components and reverts the change.
func staticPodsRoll(t *testing.T, c *cluster.Cluster) {
	const flag = "--max-mutating-requests-inflight=250"

	has := func(want bool) func(context.Context) error {
		return func(ctx context.Context) error {
			pod, err := component(ctx, c, "kube-apiserver")
			if err != nil {
				return err
			}

			if got := slices.Contains(pod.Spec.Containers[0].Command, flag); got != want {
				return fmt.Errorf("the API server has the argument %s: %t", flag, got)
			}

			return pod.Ready()
		}
	}

	c.Apply(patched(t, c, "cluster: {apiServer: {extraArgs: {max-mutating-requests-inflight: \"250\"}}}"))
	c.Measured("  the API server has another argument", c.Until("the API server has the argument", 5*time.Minute, has(true)))
	c.Apply(c.Generated.ControlPlane)
	c.Until("the API server is as before", 5*time.Minute, has(false))

	// The image of another patch version is not in the cache, and the lab is offline. So the running scheduler goes on, and
	// the machine reports the missing image until the change is reverted.
	const other = "registry.k8s.io/kube-scheduler:v1.36.2"

	before, err := component(t.Context(), c, "kube-scheduler")
	if err != nil {
		t.Fatal(err)
	}

	missed := func(want bool) func(context.Context) error {
		return func(ctx context.Context) error {
			var controller struct {
				Error string `yaml:"error"`
			}

			_, err := c.Resource(ctx, "meta", "ControllerStatuses.meta.cosi.dev", "k8s.ControlPlaneStaticPodController", &controller)
			if err != nil && status.Code(err) != codes.NotFound { // a controller that does not fail has no such resource
				return err
			}

			if got := strings.Contains(controller.Error, other); got != want {
				return fmt.Errorf("the missing image is reported: %t (%s)", got, controller.Error)
			}

			pod, err := component(ctx, c, "kube-scheduler")
			if err != nil {
				return err
			}

			if got, want := pod.Spec.Containers[0].Image, before.Spec.Containers[0].Image; got != want {
				return fmt.Errorf("the scheduler has the image %s, want %s", got, want)
			}

			return pod.Ready()
		}
	}

	c.Apply(patched(t, c, "cluster: {scheduler: {image: "+other+"}}"))
	c.Until("the scheduler goes on without the image of another version", 5*time.Minute, missed(true))
	c.Apply(c.Generated.ControlPlane)
	c.Until("the scheduler's image is no longer missed", 5*time.Minute, missed(false))
}

// renamed changes the hostname, and checks what must change with it and what must not.
func renamed(t *testing.T, c *cluster.Cluster) {
	const name = "renamed"

	scheduler := func() string {
		version, err := c.Resource(t.Context(), "k8s", "StaticPods.kubernetes.talos.dev", "kube-scheduler", nil)
		if err != nil {
			c.Fail("%v", err)
		}

		return version
	}

	// It is rendered when the API server is ready, which may be later than the node.
	c.Until("the scheduler is rendered", 5*time.Minute, func(ctx context.Context) error {
		_, err := c.Resource(ctx, "k8s", "StaticPods.kubernetes.talos.dev", "kube-scheduler", nil)

		return err
	})

	before := scheduler()

	c.Apply(patched(t, c, "apiVersion: v1alpha1\nkind: HostnameConfig\nauto: \"off\"\nhostname: "+name+"\n"))

	c.Until("the kernel has the name", time.Minute, func(ctx context.Context) error {
		return c.API(ctx, func(ctx context.Context, api *client.Client) error {
			answer, err := api.Machine.Hostname(ctx, &emptypb.Empty{})
			if err != nil {
				return err
			}

			if got := answer.GetMessages()[0].GetHostname(); got != name {
				return fmt.Errorf("its name is %q", got)
			}

			return nil
		})
	})

	c.Until("the API's certificate has the name", time.Minute, func(ctx context.Context) error {
		names, err := certificateNames(ctx, c)
		if err != nil {
			return err
		}

		if !slices.Contains(names, name) {
			return fmt.Errorf("the certificate is for %q", names)
		}

		return nil
	})

	registered(c, name)

	if after := scheduler(); after != before {
		t.Errorf("the static pod of the scheduler changed from version %s to %s, want no change", before, after)
	}

	// The pods of the former Node are replaced; the new ones have addresses of another subnet.
	c.Kubectl(workload, "apply", "-f", "-")
	served(t, c)
}

// registered waits until the machine is a Ready node of that name, and deletes the node of its name before, as docs/kubelets.md says.
func registered(c *cluster.Cluster, name string) {
	var others []string

	c.Until("the node "+name+" is Ready", 5*time.Minute, func(ctx context.Context) error {
		nodes, err := c.Nodes(ctx)
		if err != nil {
			return err
		}

		others, err = nil, fmt.Errorf("there is no node %s among %d", name, len(nodes))

		for _, n := range nodes {
			if n.Metadata.Name == name {
				err = n.Ready()
			} else {
				others = append(others, n.Metadata.Name)
			}
		}

		return err
	})

	for _, other := range others {
		c.Kubectl("", "delete", "node", other, "--ignore-not-found")
	}
}

func certificateNames(ctx context.Context, c *cluster.Cluster) ([]string, error) {
	pool, err := pki.Pool(c.Context.CA)
	if err != nil {
		return nil, err
	}

	cert, err := pki.Pair{Crt: c.Context.Crt, Key: c.Context.Key}.TLS()
	if err != nil {
		return nil, err
	}

	dialer := tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, Certificates: []tls.Certificate{cert}}}

	conn, err := dialer.DialContext(ctx, "tcp", c.Node.APIEndpoint())
	if err != nil {
		return nil, err
	}
	defer conn.Close()

	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].DNSNames, nil // from a TLS dialer
}
