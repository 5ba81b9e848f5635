// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/test/cluster"
)

// program runs a line of shell in the pod that sees the processes of the host.
func program(ctx context.Context, c *cluster.Cluster, line string) (string, error) {
	return c.TryKubectl(ctx, "-n", namespace, "exec", "host", "--", "sh", "-c", line)
}

// pids are the processes of the host whose program has the name.
func pids(ctx context.Context, c *cluster.Cluster, name string) ([]string, error) {
	out, err := program(ctx, c, `for p in /proc/[0-9]*; do a=$(tr '\0' '\n' < $p/cmdline 2>/dev/null | head -n 1); `+
		`[ "${a##*/}" = `+name+` ] && echo ${p##*/}; done; true`)
	if err != nil {
		return nil, err
	}

	found := strings.Fields(out)
	if len(found) == 0 {
		return nil, fmt.Errorf("%s does not run", name)
	}

	return found, nil
}

// killed kills each of the system's services and waits until it runs again, as another process, and is healthy.
func killed(t *testing.T, c *cluster.Cluster) {
	for _, s := range []struct{ service, program string }{
		{"cri", "containerd"}, {"kubelet", "kubelet"}, {"etcd", "etcd"}, {"apid", "apid"},
	} {
		var before []string

		c.Until(s.service+" runs", 2*time.Minute, func(ctx context.Context) (err error) {
			before, err = pids(ctx, c, s.program)

			return err
		})

		// What carries this very command may be what is killed.
		if out, err := program(t.Context(), c, "kill -9 "+strings.Join(before, " ")); err != nil && s.service != "cri" && s.service != "etcd" && s.service != "kubelet" {
			c.Fail("kill %s: %v: %s", s.program, err, out)
		}

		took := c.Until(s.service+" is back", 5*time.Minute, func(ctx context.Context) error {
			after, err := pids(ctx, c, s.program)
			if err != nil {
				return err
			}

			for _, pid := range after {
				for _, old := range before {
					if pid == old {
						return fmt.Errorf("process %s of %s is still there", pid, s.program)
					}
				}
			}

			return healthy(ctx, c, s.service)
		})
		c.Measured("  "+s.service+" is back after kill -9", took)
	}

	c.Ready("")
	served(t, c)
	c.Healthy()
}

func healthy(ctx context.Context, c *cluster.Cluster, id string) error {
	return c.API(ctx, func(ctx context.Context, api *client.Client) error {
		services, err := api.Services(ctx)
		if err != nil {
			return err
		}

		for _, s := range services {
			if s.GetId() != id {
				continue
			}

			if s.GetState() != "Running" || !s.GetHealth().GetHealthy() && !s.GetHealth().GetUnknown() {
				return fmt.Errorf("service %s is %s: %s", id, s.GetState(), s.GetHealth().GetLastMessage())
			}

			return nil
		}

		return fmt.Errorf("there is no service %s", id)
	})
}

// budgets of anonymous memory in KiB, by the program's name; the process 1 is machined.
var budgets = map[string]int{"init": 60 << 10, "apid": 30 << 10}

// memory reads what the system's own processes hold.
func memory(t *testing.T, c *cluster.Cluster) {
	c.Kubectl(workload, "apply", "-f", "-")
	c.PodsReady(namespace, "app=host", 1)

	for name, most := range budgets {
		found, err := pids(t.Context(), c, name)
		if err != nil {
			c.Fail("%v", err)
		}

		out, err := program(t.Context(), c, "cat /proc/"+found[0]+"/status")
		if err != nil {
			c.Fail("%v", err)
		}

		got, err := statusField(out, "RssAnon")
		if err != nil {
			t.Fatal(err)
		}

		t.Logf("anonymous memory of %s: %d MiB, of %d MiB", name, got>>10, most>>10)

		if got > most {
			t.Errorf("anonymous memory of %s: got %d KiB, want at most %d KiB", name, got, most)
		}
	}
}

// statusField is a number of /proc/PID/status.
func statusField(status, name string) (int, error) {
	for line := range strings.Lines(status) {
		key, value, _ := strings.Cut(line, ":")
		if words := strings.Fields(value); key == name && len(words) > 0 {
			return strconv.Atoi(words[0])
		}
	}

	return 0, errors.New("the status of a process has no " + name)
}
