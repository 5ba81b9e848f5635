// SPDX-License-Identifier: Apache-2.0

// Package cluster is a cluster of one control plane node, for tests that want the whole system: what was built, booted,
// configured over its API, with a kubectl to look at it as a user does. The node is a virtual machine, or, where no
// kernel, disk or firmware of its own is tested, a container, which is many times as fast.
//
//	c := cluster.Start(t)            // powers a virtual machine on; it is gone with the test
//	c := cluster.StartContainer(t)   // the same for a container
//	c.Maintenance()                  // its API answers
//	c.ApplyInsecure(ctx, c.Generated.ControlPlane)
//	c.Bootstrap()
//	c.Ready("")                      // Kubernetes says so
//
// How machines become a cluster is lab/cluster's matter; here it is tied to a test. A UserLab is any number of machines, made by talosctl as users do.
//
// There is no way out of its network. Every wait has an end, says what it waited for, and what fails shows the end of
// the console, the services and the conditions that are not met; package evidence keeps more. At the end of the test the
// consoles of all boots are looked through for panics and the like.
package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/lab"
	labcluster "github.com/seed-59268b81/talos/lab/cluster"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/test/evidence"
)

// Cluster is one node and what belongs to it.
type Cluster struct {
	t *testing.T

	Lab  *lab.Lab
	Node *lab.Node
	// Generated are the configurations that the cluster starts from.
	Generated *generate.Output
	// Context is the administrator's.
	Context *talosconfig.Context

	built   artifact.Paths
	cluster *labcluster.Cluster
	stages  []Stage
}

// Stage is a step of the test with the time that it took.
type Stage struct {
	Name string
	Took time.Duration
}

// Size of the machine is what the budgets are for.
var size = lab.Size{CPUs: 2, MemoryMiB: 4096, DiskGiB: 10}

// Start powers a virtual machine on, with empty disks of the given GiB beside its own. It skips the test when nothing is
// built, see Require.
func Start(t *testing.T, extraDisks ...int) *Cluster {
	t.Helper()

	return StartIn(t, lab.Options{Provisioner: state.QEMU, ExtraDisks: extraDisks})
}

// StartContainer is Start for a machine in a container.
func StartContainer(t *testing.T) *Cluster {
	t.Helper()

	return StartIn(t, lab.Options{Provisioner: state.Container})
}

// Contained reports whether the machine is a container.
func (c *Cluster) Contained() bool { return c.Node.As() == state.Container }

// StartIn is Start for a machine in another world: the options say what it is, with which network cards, and what is
// around it.
func StartIn(t *testing.T, options lab.Options) *Cluster {
	t.Helper()

	built, err := find()
	if err != nil {
		hosttest.NotBuilt(t, fmt.Errorf("needs a built system: %w", err))
	}

	dir := filepath.Join(built.Out, "e2e", t.Name())

	// The rest of a run that was killed.
	if old, err := lab.Open(dir); err == nil {
		if err := old.Destroy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}

	options.Name, options.StateDir, options.Image, options.Offline = "e2e", dir, image(built), true
	options.ControlPlanes, options.ControlPlane = 1, size

	machines, err := lab.Create(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}

	c := &Cluster{t: t, built: built, Lab: machines, Node: machines.Node(0)}

	t.Cleanup(func() {
		if err := c.Lab.Destroy(context.Background()); err != nil {
			t.Error(err)
		}
	})
	evidence.OnFailure(t, built.Out, evidence.Machines{Dir: dir, Support: c.support})
	t.Cleanup(c.end)

	status, err := c.Lab.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	// Nothing that a test tries is refused for good, and a machine that is off may come back.
	c.cluster = labcluster.New(c.Lab, labcluster.Wait{Say: c.say, Try: tryTime, Every: tryEvery})
	c.cluster.Emulated = labcluster.Emulated(status)

	if err := c.cluster.Generate("", labcluster.Options(0, true)); err != nil {
		t.Fatal(err)
	}

	c.Generated, c.Context = c.cluster.Generated, c.cluster.Context

	runs := status.Accel + " (" + status.AccelWhy + ")"
	if c.Contained() {
		runs = status.Containers
	}

	t.Logf("machine %s is on, with %s; its console: %s", c.Node.Name, runs, c.Node.ConsolePath())

	return c
}

// say notes what is done and waited for.
func (c *Cluster) say(format string, args ...any) {
	c.t.Helper()
	c.t.Logf(format, args...)
}

// end tells what was found.
func (c *Cluster) end() {
	findings, err := c.Node.Findings()
	if err != nil {
		c.t.Errorf("look through the consoles: %v", err)
	}

	for _, f := range findings {
		c.t.Errorf("the console shows a fault: %s", f)
	}

	for _, s := range c.stages {
		c.t.Logf("%8.1fs  %s", s.Took.Seconds(), s.Name)
	}
}

// support is talosctl support as the administrator, or as anyone while the machine is in maintenance.
func (c *Cluster) support(ctx context.Context, file string) *exec.Cmd {
	args := []string{"support", "--no-encryption", "--output", file, "--endpoints", c.Node.APIEndpoint(), "--nodes", c.Node.Addr.String()}
	if _, err := os.Stat(c.Lab.State().TalosconfigPath()); err != nil {
		args = append(args, "--insecure")
	}

	return c.TalosctlCommand(ctx, args...)
}

// Run is a step on which the later ones stand: when it fails, so does the whole test.
func (c *Cluster) Run(name string, step func(t *testing.T)) {
	c.t.Helper()

	outer := c.t
	start := time.Now()

	ok := outer.Run(name, func(t *testing.T) {
		c.t = t
		defer func() { c.t = outer }()

		step(t)
	})

	c.t = outer
	c.Measured(name, time.Since(start))

	if !ok {
		outer.FailNow()
	}
}

// Measured notes how long something took, for the table at the end.
func (c *Cluster) Measured(name string, took time.Duration) {
	c.stages = append(c.stages, Stage{Name: name, Took: took})
	c.t.Logf("%s: %.1fs", name, took.Seconds())
}
