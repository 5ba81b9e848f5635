// SPDX-License-Identifier: Apache-2.0

// Package cluster is a cluster of one control plane node, for tests of the whole system: it boots what was built,
// configures it over its API, and reads it with kubectl, as a user does. The node is a virtual machine, or, for tests that
// need no kernel, disk or firmware of its own, a container, which is many times as fast. There can be more machines; the
// methods are about the first one, Node, unless they name another.
//
//	c := cluster.Start(t)            // powers a virtual machine on; it is removed at the end of the test
//	c := cluster.StartContainer(t)   // the same for a container
//	c.Maintenance()                  // its API answers
//	c.ApplyInsecure(ctx, c.Generated.ControlPlane)
//	c.Bootstrap()
//	c.Ready("")                      // Kubernetes reports that the node is Ready
//
// Package lab/cluster makes machines a cluster; this package runs it in a test. A UserLab is any number of machines,
// created by talosctl as users do.
//
// The network is offline. Every wait has a timeout and names its goal. A failure prints the end of the console, the
// services and the conditions that are not met; package evidence keeps more. At the end of the test the consoles of all
// boots are searched for panics and other faults.
package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/kube"
	"github.com/seed-59268b81/talos/lab"
	labcluster "github.com/seed-59268b81/talos/lab/cluster"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/test/evidence"
)

// Cluster is one node with its lab and configurations.
type Cluster struct {
	t *testing.T

	Lab  *lab.Lab
	Node *lab.Node
	// Generated are the first configurations of the cluster.
	Generated *generate.Output
	// Context is the administrator's.
	Context *talosconfig.Context

	built   artifact.Paths
	cluster *labcluster.Cluster
	stages  []Stage
	// slowness is how many times longer than usual an emulated machine took until it was Ready the first time, or 0.
	slowness float64
	// caused are faults that the test causes.
	caused []string
	// kubernetes is the client of the API server with the kubeconfig that it was made from.
	kubernetes struct {
		sync.Mutex

		client *kube.Client
		text   []byte
	}
}

// Stage is a step of the test with its duration.
type Stage struct {
	Name string
	Took time.Duration
}

// size is that of the machine for which the budgets hold.
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

// StartIn is Start for a machine in another world: the options describe it, its network cards and its networks.
func StartIn(t *testing.T, options lab.Options) *Cluster {
	t.Helper()

	return start(t, options, labcluster.Options(0))
}

// StartConfigured is StartIn for a machine that gets its configuration by itself, as user data. The options of a virtual machine name the
// cloud. Edits change the options of the configuration.
func StartConfigured(t *testing.T, options lab.Options, edits ...func(*generate.Options) error) *Cluster {
	t.Helper()

	config := labcluster.Options(0)

	for _, edit := range edits {
		if err := edit(&config); err != nil {
			t.Fatal(err)
		}
	}

	userData, err := labcluster.UserData("", &config)
	if err != nil {
		t.Fatal(err)
	}

	options.UserData = userData

	return start(t, options, config)
}

// start starts a machine whose configuration is generated with options.
func start(t *testing.T, options lab.Options, config generate.Options) *Cluster {
	t.Helper()

	built, err := find()
	if err != nil {
		hosttest.NotBuilt(t, fmt.Errorf("needs a built system: %w", err))
	}

	dir := filepath.Join(built.Out, "e2e", t.Name())

	// Remove the lab of a killed run.
	if old, err := lab.Open(dir); err == nil {
		if err := old.Destroy(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}

	bios, cd, record := options.Image.BIOS, options.Image.CD, options.Image.Record
	options.Name, options.StateDir, options.Image, options.Offline = "e2e", dir, image(built), true
	options.Image.BIOS, options.Image.Record = bios, record

	if cd != "" {
		options.Image.Disk, options.Image.CD = "", cd
	}

	options.ControlPlanes, options.ControlPlane = max(1, options.ControlPlanes), size

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

	// No error ends the tries early: in a test a machine that is off may come back.
	c.cluster = labcluster.New(c.Lab, labcluster.Wait{Say: c.say, Try: tryTime, Every: tryEvery})
	c.cluster.Emulated = labcluster.Emulated(status)

	if err := c.cluster.Generate("", config); err != nil {
		t.Fatal(err)
	}

	c.Generated, c.Context = c.cluster.Generated, c.cluster.Context

	if options.UserData != nil { // the administrator is known from the start
		if err := c.cluster.WriteConfigurations(); err != nil {
			t.Fatal(err)
		}
	}

	runs := status.Accel + " (" + status.AccelWhy + ")"
	if c.Contained() {
		runs = status.Containers
	}

	t.Logf("machine %s is on, with %s; its console: %s", c.Node.Name, runs, c.Node.ConsolePath())

	return c
}

// say logs progress.
func (c *Cluster) say(format string, args ...any) {
	c.t.Helper()
	c.t.Logf(format, args...)
}

// Causes has the test cause one fault whose line on the console has the text.
func (c *Cluster) Causes(fault string) { c.caused = append(c.caused, fault) }

// end reports the stages and the faults on the consoles.
func (c *Cluster) end() {
	if c.kubernetes.client != nil {
		c.kubernetes.client.Close()
	}

	for _, s := range c.stages {
		c.t.Logf("%8.1fs  %s", s.Took.Seconds(), s.Name)
	}

	var findings []string

	for _, n := range c.Lab.Nodes() {
		found, err := n.Findings()
		if err != nil {
			c.t.Errorf("search the consoles: %v", err)
		}

		findings = append(findings, found...)
	}

	for _, f := range findings {
		line, _, _ := strings.Cut(f, "\n")

		if i := slices.IndexFunc(c.caused, func(fault string) bool { return strings.Contains(line, fault) }); i >= 0 {
			c.caused = slices.Delete(c.caused, i, i+1)
		} else {
			c.t.Errorf("the console shows a fault: %s", f)
		}
	}

	for _, fault := range c.caused {
		c.t.Errorf("the console does not show the fault that the test caused: %s", fault)
	}
}

// support returns talosctl support as the administrator, or without a certificate while the machine is in maintenance.
func (c *Cluster) support(ctx context.Context, file string) *exec.Cmd {
	args := []string{"support", "--no-encryption", "--output", file, "--endpoints", c.Node.APIEndpoint(), "--nodes", c.Node.Addr.String()}
	if _, err := os.Stat(c.Lab.State().TalosconfigPath()); err != nil {
		args = append(args, "--insecure")
	}

	return c.TalosctlCommand(ctx, args...)
}

// Run runs a step that the later ones need: when it fails, so does the whole test.
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

// Measured records how long something took, for the table at the end.
func (c *Cluster) Measured(name string, took time.Duration) {
	c.stages = append(c.stages, Stage{Name: name, Took: took})
	c.t.Logf("%s: %.1fs", name, took.Seconds())
}

// Emulated reports whether the machines are virtual ones without hardware virtualization. They are ten times as slow as others, and share this
// computer's cores.
func (c *Cluster) Emulated() bool { return c.cluster.Emulated }
