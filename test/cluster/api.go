// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"go.yaml.in/yaml/v4"

	clusterapi "github.com/seed-59268b81/talos/api/cluster"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
)

// Emulated on two cores of which others may want a part, these are many times what it should take.
const (
	bootTime  = 5 * time.Minute
	readyTime = 10 * time.Minute
)

// With calls the machine over a connection of its own: one that is kept is tried again ever less often.
func (c *Cluster) With(ctx context.Context, identity client.Option, call func(context.Context, *client.Client) error) error {
	api, err := client.New([]string{c.Node.APIEndpoint()}, identity)
	if err != nil {
		return err
	}
	defer api.Close()

	return call(ctx, api)
}

// API calls the machine as the administrator.
func (c *Cluster) API(ctx context.Context, call func(context.Context, *client.Client) error) error {
	return c.With(ctx, client.WithCertificates(c.Context.CA, c.Context.Crt, c.Context.Key), call)
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

	return c.Until("the API answers in maintenance", bootTime, func(ctx context.Context) error {
		return c.version(ctx, client.WithInsecure())
	})
}

// Answers waits until the API of a configured machine answers.
func (c *Cluster) Answers() time.Duration {
	c.t.Helper()

	return c.Until("the API answers", bootTime, func(ctx context.Context) error {
		return c.version(ctx, client.WithCertificates(c.Context.CA, c.Context.Crt, c.Context.Key))
	})
}

// version asks for it until it is answered, or returns the last error. A connection that is opened before the machine has
// its address hangs for seconds, so that each call is short.
func (c *Cluster) version(ctx context.Context, identity client.Option) error {
	for {
		one, cancel := context.WithTimeout(ctx, time.Second)
		err := c.With(one, identity, func(ctx context.Context, api *client.Client) error {
			_, err := api.Version(ctx)

			return err
		})

		cancel()

		if err == nil || ctx.Err() != nil {
			return err
		}

		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// ApplyInsecure sends a configuration to a machine in maintenance.
func (c *Cluster) ApplyInsecure(ctx context.Context, text []byte) error {
	return c.With(ctx, client.WithInsecure(), func(ctx context.Context, api *client.Client) error {
		_, err := api.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Data: text, Mode: machine.ApplyConfigurationRequest_AUTO})

		return err
	})
}

// Apply sends a configuration as the administrator, and returns what the node says about it.
func (c *Cluster) Apply(text []byte) *machine.ApplyConfiguration {
	c.t.Helper()

	var answer *machine.ApplyConfiguration

	c.Do("apply a configuration", func(ctx context.Context, api *client.Client) (err error) {
		answer, err = api.ApplyConfiguration(ctx, &machine.ApplyConfigurationRequest{Data: text, Mode: machine.ApplyConfigurationRequest_AUTO})

		return err
	})

	return answer
}

// Bootstrap starts etcd as soon as the machine lets it.
func (c *Cluster) Bootstrap() {
	c.t.Helper()

	c.Until("the machine can be bootstrapped", bootTime, func(ctx context.Context) error {
		return c.API(ctx, func(ctx context.Context, api *client.Client) error {
			err := api.Bootstrap(ctx, &machine.BootstrapRequest{})
			if status.Code(err) == codes.AlreadyExists { // an earlier try got through, its answer did not
				return nil
			}

			return err
		})
	})
}

// Kubeconfig fetches a kubeconfig whose server is the forwarded port.
func (c *Cluster) Kubeconfig() {
	c.t.Helper()

	var content []byte

	c.Until("the machine gives a kubeconfig", bootTime, func(ctx context.Context) error {
		return c.API(ctx, func(ctx context.Context, api *client.Client) (err error) {
			content, err = api.Kubeconfig(ctx)

			return err
		})
	})

	config, err := kubeconfig.ParseFile(content)
	if err != nil {
		c.t.Fatal(err)
	}

	config.SetServer("https://" + c.Node.KubernetesEndpoint())

	if err := kubeconfig.Write(c.kubeconfig, config); err != nil {
		c.t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(c.dir, "talosconfig"), c.Generated.Talosconfig, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// Healthy has the node check the whole cluster.
func (c *Cluster) Healthy() {
	c.t.Helper()

	ctx, cancel := context.WithTimeout(c.t.Context(), readyTime)
	defer cancel()

	last := ""

	err := c.API(ctx, func(ctx context.Context, api *client.Client) error {
		for line, err := range api.HealthCheck(ctx, &clusterapi.HealthCheckRequest{WaitTimeout: durationpb.New(readyTime - 5*time.Second)}) {
			if err != nil {
				return err
			}

			last = line
		}

		return nil
	})
	if err != nil {
		c.Fail("health: %v", err)
	}

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

func resourceSpec(ctx context.Context, api *client.Client, namespace, kind, id string) (string, error) {
	r, err := api.Resource(ctx, client.Kind{Namespace: namespace, Type: kind}, id)
	if err != nil {
		return "", err
	}

	return r.GetSpec().GetYamlSpec(), nil
}

// Talosctl runs talosctl as the administrator and returns all that it says. It must succeed.
func (c *Cluster) Talosctl(args ...string) string {
	c.t.Helper()

	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()

	//program:built talosctl
	cmd := exec.CommandContext(ctx, c.built.talosctl, args...)
	cmd.Env = append(os.Environ(), "TALOSCONFIG="+filepath.Join(c.dir, "talosconfig"))

	out, err := cmd.CombinedOutput()
	if err != nil {
		c.Fail("talosctl %s: %v: %s", strings.Join(args, " "), err, out)
	}

	return string(out)
}

// Console is what the machine wrote to its console since the latest boot.
func (c *Cluster) Console() string {
	text, err := os.ReadFile(c.Node.ConsolePath())
	if err != nil {
		return ""
	}

	return string(text)
}
