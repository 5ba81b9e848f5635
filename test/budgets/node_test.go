// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/cluster"
)

// Measure is the environment variable for the measurements that need a machine and minutes.
const Measure = "TALOS_BUDGETS"

// Times from power-on, of a machine that is emulated on two idle cores.
const (
	apiLimit   = 12 * time.Second
	readyLimit = 90 * time.Second
	// usualLoad is the time from power-on until the kernel starts on the computer that the limits are for. Until then the firmware and the boot
	// loader run, which are not ours: on a computer on which they take longer, the limits are longer.
	usualLoad = 4500 * time.Millisecond
	// firstRatio is the time to Ready of a first boot, divided by that of a later one.
	firstRatio = 1.5
)

// TestNode measures a control plane node: memory when it is idle, and a boot from power-on to Ready.
func TestNode(t *testing.T) {
	if os.Getenv(Measure) == "" {
		t.Skip("measures boot times, which needs minutes and the whole computer: run make budgets")
	}

	c := cluster.Start(t)
	c.Maintenance()
	report("\nfirst boot, from power-on\n")
	moments(c.Timeline())

	first := c.SincePowerOn()
	moment("the API answers, in maintenance", first)

	if err := c.ApplyInsecure(t.Context(), c.Generated.ControlPlane); err != nil {
		t.Fatal(err)
	}

	c.Answers()
	c.Bootstrap()
	c.Kubeconfig()
	boot, took := c.Ready("")
	firstReady := c.SincePowerOn()

	moment("the node is Ready for the first time", firstReady)
	report("%7.1fs  of these from the kubeconfig on", took.Seconds())

	c.Kubectl(cluster.HostPod, "apply", "-f", "-")
	c.PodsReady("", "", 8)

	report("\nmemory of an idle control plane node\n")

	for _, m := range c.IdleMemoryOf("init", "apid", "trustd", "discoveryd", "containerd", "etcd", "kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler") {
		limit := ""

		if most := cluster.MemoryBudgets[m.Program]; most > 0 {
			limit = "(budget: " + mib(most) + " anonymous)"

			if m.Anonymous > most {
				t.Errorf("anonymous memory of %s: got %s, want at most %s", m.Program, mib(m.Anonymous), mib(most))
			}
		}

		report("%8s anonymous %8s resident  %s %s", mib(m.Anonymous), mib(m.Resident), m.Program, limit)
	}

	if err := c.Node.PowerCut(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := c.Node.PowerOn(t.Context()); err != nil {
		t.Fatal(err)
	}

	c.Answers()

	api := c.SincePowerOn()

	c.Ready(boot)

	ready := c.SincePowerOn()

	report("\nboot of a bootstrapped node, from power-on\n")
	moments(c.Timeline())
	moment("the API answers", api)
	moment("the node is Ready", ready)

	ratio := firstReady.Seconds() / ready.Seconds()
	report("%8.2f  times as long took the first boot", ratio)

	if ratio > firstRatio {
		t.Errorf("first boot to Ready: got %.1fs, %.2f times a later boot, want at most %.1f times", firstReady.Seconds(), ratio, firstRatio)
	}

	slowness := slowness(t, c)

	for _, m := range []struct {
		name     string
		at, most time.Duration
	}{{"API", api, apiLimit}, {"Ready", ready, readyLimit}} {
		if most := time.Duration(float64(m.most) * slowness).Round(time.Second / 10); m.at > most {
			t.Errorf("power-on to %s: got %.1fs, want at most %s", m.name, m.at.Seconds(), most)
		}
	}
}

// slowness returns how many times longer than usual the latest boot took until the kernel started, at least 1.
func slowness(t *testing.T, c *cluster.Cluster) float64 {
	t.Helper()

	i := slices.IndexFunc(c.Timeline(), func(m cluster.Moment) bool { return m.Name == cluster.KernelStarts })
	if i < 0 {
		t.Fatal("the console does not show when the kernel started")
	}

	took := c.Timeline()[i].At
	times := max(1, took.Seconds()/usualLoad.Seconds())

	report("%8.2f  times the usual %s took the firmware and the boot loader: limits are multiplied by it", times, usualLoad)

	return times
}

func moments(all []cluster.Moment) {
	for _, m := range all {
		moment(m.Name, m.At)
	}
}

func moment(name string, at time.Duration) { report("%7.1fs  %s", at.Seconds(), name) }
