// SPDX-License-Identifier: Apache-2.0

package budgets

import (
	"os"
	"strings"
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
	// usualWork is the time of the work of testdata/work, on two emulated processors at once, on the computer that the limits are for. On a
	// computer on which it takes longer, they are longer.
	usualWork = 5500 * time.Millisecond
	// firstRatio is the time to Ready of a first boot, divided by that of a later one, each as a multiple of the work's.
	firstRatio = 1.5
)

// TestNode measures a control plane node: memory when it is idle, and a boot from power-on to Ready.
func TestNode(t *testing.T) {
	if os.Getenv(Measure) == "" {
		t.Skip("measures boot times, which needs minutes and the whole computer: run make budgets")
	}

	report("\nspeed of the emulation: %s is usual\n", usualWork)

	before := emulated(t)

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

	report("\nspeed of the emulation\n")

	between := emulated(t)

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

	if err := c.Node.PowerCut(t.Context()); err != nil {
		t.Fatal(err)
	}

	report("\nspeed of the emulation\n")

	workFirst, workLater := (before+between)/2, (between+emulated(t))/2

	if ratio := (firstReady.Seconds() / workFirst.Seconds()) / (ready.Seconds() / workLater.Seconds()); ratio > firstRatio {
		t.Errorf("first boot to Ready: got %.2f times a later boot, as multiples of the work, want at most %.1f times", ratio, firstRatio)
	} else {
		report("%8.2f  times as long took the first boot, as multiples of the work", ratio)
	}

	slowness := max(1, workLater.Seconds()/usualWork.Seconds())

	for _, m := range []struct {
		name     string
		at, most time.Duration
	}{{"API", api, apiLimit}, {"Ready", ready, readyLimit}} {
		most := time.Duration(float64(m.most) * slowness).Round(time.Second / 10)
		report("%7.1fs  from power-on to %s, of %s: limits are multiplied by %.2f", m.at.Seconds(), m.name, most, slowness)

		if m.at > most {
			t.Errorf("power-on to %s: got %.1fs, want at most %s", m.name, m.at.Seconds(), most)
		}
	}
}

// emulated returns how long a guest with two processors takes for the work of testdata/work. The speed of emulation differs by a factor of two from
// hour to hour, and that of two busy processors by more than that of one.
func emulated(t *testing.T) time.Duration {
	t.Helper()

	const said = "work: "

	_, text, found := strings.Cut(inGuest(t, []string{"build", "./test/budgets/testdata/work"}), said)
	line, _, _ := strings.Cut(text, "\r\n")

	took, err := time.ParseDuration(line)
	if !found || err != nil {
		t.Fatalf("the guest does not say how long its work took: %q", line)
	}

	moment("two emulated processors do the work", took)

	return took
}

func moments(all []cluster.Moment) {
	for _, m := range all {
		moment(m.Name, m.At)
	}
}

func moment(name string, at time.Duration) { report("%7.1fs  %s", at.Seconds(), name) }
