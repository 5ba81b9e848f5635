// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/test/cluster"
)

const (
	// afterNode is the time that the tests after TestNode take on a slow computer.
	afterNode = 29 * time.Minute
	// workloadTime is the time until the workload of a virtual machine answers, on a computer of usual speed, with much to spare.
	workloadTime = 4 * time.Minute
)

// TestNode is the life of a virtual machine, in steps that each need the one before: its firmware, kernel, disks and
// power. TestContainer tests everything else with a container; at the level All, TestNode does so too.
func TestNode(t *testing.T) {
	c := cluster.Start(t, 1) // a disk of 1 GiB to wipe
	boot, took, works := begin(t, c)

	c.Run("links its disks and follows udev rules", func(t *testing.T) { devices(t, c) })
	c.Run("reboots", func(t *testing.T) {
		if c.Emulated() { // each step may take longer than the workload's grace period, and then the kubelet does not wait for it
			rebooted(t, c)
		} else {
			needsWorkload(t, works)
			gracefully(t, c)
		}
	})
	c.Run("finds its file systems clean", func(t *testing.T) { clean(t, c) })
	c.Run("keeps its state over a reboot", func(t *testing.T) {
		needsWorkload(t, works)
		cluster.NeedsTime(t, took+afterNode)

		boot = itself(t, c, boot)
	})

	if cluster.Asked(cluster.Landing) {
		c.Run("obeys talosctl", func(t *testing.T) {
			needsWorkload(t, works)
			cluster.NeedsTime(t, c.Patience(servedTime+6*time.Minute)+afterNode) // so its pods run again: itself has waited for them
			commands(t, c)
		})
		c.Run("is reset while it works", func(t *testing.T) {
			needsWorkload(t, works)
			cluster.NeedsTime(t, c.Patience(5*time.Minute)+3*took+afterNode)

			boot = resets(t, c, boot)
		})
		c.Run("makes and removes a bond with VLANs and a VRF", func(t *testing.T) { bond(t, c) })
		c.Run("sets its network card up", func(t *testing.T) { ethernet(t, c) })
		c.Run("enforces NetworkPolicies", func(t *testing.T) {
			needsWorkload(t, works)
			cluster.NeedsTime(t, c.Patience(policiesTime+5*time.Minute)+afterNode)
			policies(t, c)
		})
	}

	if cluster.Asked(cluster.All) {
		changes(t, c, boot)
	}

	c.Run("shuts down", func(t *testing.T) { shutDown(t, c) })
}

// TestContainer is the life of a machine in a container.
func TestContainer(t *testing.T) {
	c := cluster.StartContainer(t)
	boot, _, works := begin(t, c)

	c.Run("refuses bad input", func(t *testing.T) { badInput(t, c) })
	c.Run("prints resources as users know them", func(t *testing.T) { printed(t, c) })
	c.Run("reboots under a workload that has to finish", func(t *testing.T) {
		needsWorkload(t, works)
		gracefully(t, c)
	})
	c.Run("keeps its state over a reboot", func(t *testing.T) {
		needsWorkload(t, works)

		boot = itself(t, c, boot)
	})
	c.Run("obeys talosctl", func(t *testing.T) { commands(t, c) })
	c.Run("gives a stranger nothing", func(t *testing.T) { strangers(t, c) })
	c.Run("brings stopped services back", func(t *testing.T) { stopped(t, c) })
	changes(t, c, boot)
	// On a slow computer TestNode may have left too little time for the last steps.
	c.Run("enforces NetworkPolicies", func(t *testing.T) {
		needsWorkload(t, works)
		cluster.NeedsTime(t, 8*time.Minute)
		policies(t, c)
	})
	c.Run("goes back from configurations that break it", func(t *testing.T) {
		cluster.NeedsTime(t, 5*time.Minute)
		goesBack(t, c)
	})
	c.Run("is brought back when its configuration is damaged", func(t *testing.T) {
		cluster.NeedsTime(t, 2*time.Minute)
		rescued(t, c)
	})
	c.Run("shuts down", func(t *testing.T) { shutDown(t, c) })
}

// resets are ends of the machine that nothing could prepare: its watchdog's, and power cuts at work and in the middle of a boot.
func resets(t *testing.T, c *cluster.Cluster, boot string) string {
	c.Run("by its watchdog when process 1 hangs", func(t *testing.T) { hung(t, c) }) // the next step shows that it becomes Ready
	c.Run("by a power cut at work and another while it boots", func(t *testing.T) {
		powerCycle(t, c)
		c.Until("half of the boot is done", 3*time.Minute, func(context.Context) error {
			if !strings.Contains(c.Console(), "volume=EPHEMERAL") {
				return errors.New("EPHEMERAL is not mounted yet")
			}

			return nil
		})
		powerCycle(t, c)
		boot = itself(t, c, boot)
	})

	return boot
}

// needsWorkload skips a step for which the workload of begin must run, if it does not: it was left out on a slow computer, or by a filter of
// tests.
func needsWorkload(t *testing.T, works bool) {
	t.Helper()

	if !works {
		t.Skip("no workload runs: the step that starts it was left out")
	}
}

// begin follows a machine from its first boot until it serves a workload. It returns the id of the boot, the time until the node was Ready,
// and whether the workload runs.
func begin(t *testing.T, c *cluster.Cluster) (boot string, ready time.Duration, works bool) {
	c.Run("boots to maintenance", func(*testing.T) { c.Maintenance() })
	c.Run("refuses bad input in maintenance", func(t *testing.T) { badInputInMaintenance(t, c) })
	c.Run("takes documents before its configuration", func(t *testing.T) { takesPart(t, c) })
	c.Run("takes its configuration", func(t *testing.T) { takesConfiguration(t, c) })
	c.Run("refuses foreign clients", func(t *testing.T) { foreignClients(t, c) })
	c.Run("is bootstrapped", func(*testing.T) { c.Bootstrap(); c.Kubeconfig() })
	c.Run("is Ready", func(*testing.T) { boot, ready = c.Ready("") })
	c.Run("has all pods of kube-system", func(t *testing.T) { systemPods(t, c) })
	c.Run("is healthy", func(*testing.T) { c.Healthy() })
	c.Run("keeps within its memory", func(t *testing.T) { memory(t, c) })
	c.Run("serves a Deployment by its DNS name", func(t *testing.T) {
		if !c.Contained() {
			cluster.NeedsTime(t, c.Patience(workloadTime)+afterNode)
		}

		c.Kubectl(workload, "apply", "-f", "-")
		served(t, c)

		works = true
	})
	c.Run("lets a pod write under /var", func(t *testing.T) {
		needsWorkload(t, works)
		c.Kubectl("", "-n", namespace, "exec", "deploy/host", "--", "sh", "-c", "echo "+content+" > /data/file && sync")
	})

	return boot, ready, works
}

// changes are killed services, other configurations and lost data.
func changes(t *testing.T, c *cluster.Cluster, boot string) {
	c.Run("brings killed services back", func(t *testing.T) { killed(t, c) })
	c.Run("rolls static pods by configuration", func(t *testing.T) { staticPodsRoll(t, c) })
	c.Run("comes back from a snapshot", func(t *testing.T) {
		power(t, c, "bootstrap from a snapshot")
		c.Ready(boot)
	})
	c.Run("reboots when its pods have moved", func(t *testing.T) { drained(t, c) })
	c.Run("changes its name without a reboot", func(t *testing.T) { renamed(t, c) })
}

func rebooted(t *testing.T, c *cluster.Cluster) {
	boots := machineStatus(t, c).Boots

	power(t, c, "reboot")

	c.Until("the machine has rebooted", 3*time.Minute, func(context.Context) error {
		if s := machineStatus(t, c); s.Boots == boots {
			return fmt.Errorf("it has not yet: %+v", s)
		}

		return nil
	})
}

func shutDown(t *testing.T, c *cluster.Cluster) {
	power(t, c, "shutdown")
	c.Until("the machine is off", 3*time.Minute, func(context.Context) error {
		if s := machineStatus(t, c); s.Power != machine.Off {
			return fmt.Errorf("it is %s", s.Power)
		}

		return nil
	})
}

func takesConfiguration(t *testing.T, c *cluster.Cluster) {
	if err := c.ApplyInsecure(t.Context(), c.Generated.ControlPlane); err != nil {
		c.Fail("%v", err)
	}

	c.Answers()

	// Maintenance, in which anyone may apply a configuration, is over.
	if err := c.ApplyInsecure(t.Context(), c.Generated.ControlPlane); err == nil {
		t.Error("a client without a certificate applied a second configuration")
	}
}

// itself checks a node after a boot: it is Ready, serves its Deployment, and has the file.
func itself(t *testing.T, c *cluster.Cluster, before string) string {
	boot, took := c.Ready(before)
	c.Measured("  Ready after "+t.Name()[strings.LastIndexByte(t.Name(), '/')+1:], took)

	// An emulated machine takes one to two minutes until its pods resolve names again, on a slow computer five.
	if c.Contained() || cluster.Asked(cluster.Landing) && cluster.InTime(t, c.Patience(servedTime)+afterNode) {
		served(t, c)
	}

	c.Until("the file that a pod wrote is there", 2*time.Minute, func(ctx context.Context) error {
		got, err := c.TalosctlCommand(ctx, "read", written).Output()
		if err == nil && string(got) != content+"\n" {
			err = fmt.Errorf("the file holds %q, want %q", got, content)
		}

		return err
	})

	return boot
}

func powerCycle(t *testing.T, c *cluster.Cluster) {
	if err := c.Node.PowerCut(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := c.Node.PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func machineStatus(t *testing.T, c *cluster.Cluster) machine.Status {
	s, err := c.Node.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	return s.Machine
}
