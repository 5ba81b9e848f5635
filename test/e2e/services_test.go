// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/test/cluster"
)

// killed kills each of the system's services and waits until it runs again, as another process, and is healthy.
func killed(t *testing.T, c *cluster.Cluster) {
	for _, s := range []struct{ service, program string }{
		{"cri", "containerd"}, {"kubelet", "kubelet"}, {"etcd", "etcd"}, {"apid", "apid"}, {"trustd", "trustd"}, {"discoveryd", "discoveryd"},
	} {
		var before []string

		c.Until(s.service+" runs", 2*time.Minute, func(ctx context.Context) (err error) {
			before, err = c.Processes(ctx, s.program)

			return err
		})

		// The killed service may be the one that runs this command.
		if out, err := c.Shell(t.Context(), "kill -9 "+strings.Join(before, " ")); err != nil && s.service != "cri" && s.service != "etcd" && s.service != "kubelet" {
			c.Fail("kill %s: %v: %s", s.program, err, out)
		}

		took := c.Until(s.service+" is back", 5*time.Minute, func(ctx context.Context) error {
			after, err := c.Processes(ctx, s.program)
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

// mostStopped is how long a service may be away after SIGSTOP.
const mostStopped = 10 * time.Second

// stopped sends SIGSTOP to each of the services from outside the machine, and waits until it runs as another process.
func stopped(t *testing.T, c *cluster.Cluster) {
	for _, s := range []struct{ service, program string }{
		{"cri", "containerd"}, {"kubelet", "kubelet"}, {"etcd", "etcd"}, {"apid", "apid"}, {"trustd", "trustd"}, {"discoveryd", "discoveryd"},
	} {
		c.Measured("  "+s.service+" runs again after SIGSTOP", sabotage(t, c, s.program, syscall.SIGSTOP))
		c.Until(s.service+" is healthy", 3*time.Minute, func(ctx context.Context) error { return healthy(ctx, c, s.service) })
	}
}

// processesOf returns the processes of a program in the network namespace of another process, by this computer's ids.
func processesOf(t *testing.T, first int, program string) []int {
	namespace := func(pid string) string {
		link, err := os.Readlink("/proc/" + pid + "/ns/net")
		if err != nil {
			return ""
		}

		return link
	}

	own := namespace(strconv.Itoa(first))

	entries, err := os.ReadDir("/proc")
	if err != nil || own == "" {
		t.Fatalf("look for %s in the network of process %d: %v", program, first, err)
	}

	var out []int

	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || namespace(e.Name()) != own {
			continue
		}

		// The process may have ended.
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if argv0, _, _ := strings.Cut(string(line), "\x00"); err == nil && path.Base(argv0) == program {
			out = append(out, pid)
		}
	}

	return out
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

// memory compares the memory of the system's own processes with their budgets.
func memory(t *testing.T, c *cluster.Cluster) {
	c.Kubectl(cluster.HostPod, "apply", "-f", "-")
	c.PodsReady(cluster.Namespace, "app=host", 1)

	for _, m := range c.IdleMemoryOf("init", "apid") {
		t.Logf("memory of %s: %d MiB anonymous, %d MiB resident", m.Program, m.Anonymous>>20, m.Resident>>20)

		if most := cluster.MemoryBudgets[m.Program]; m.Anonymous > most {
			t.Errorf("anonymous memory of %s: got %d KiB, want at most %d KiB", m.Program, m.Anonymous>>10, most>>10)
		}
	}
}
