// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/test/evidence"
)

// UserLab is a lab that is created as users do: by talosctl cluster.
type UserLab struct {
	// Program is talosctl; Kubectl is kubectl.
	Program, Kubectl string
	// Dir is the lab's folder.
	Dir string

	t              *testing.T
	out            string
	configurations []string // flags that name the lab's talosconfig
}

// NewUserLab finds talosctl, and removes the lab of a killed run. The lab is removed at the end of the test.
func NewUserLab(t *testing.T, name string) *UserLab {
	t.Helper()

	built, err := artifact.Find()
	if err != nil {
		t.Fatal(err)
	}

	l := &UserLab{
		Program: built.Bin("talosctl"), Kubectl: built.Bin("kubectl"),
		Dir: filepath.Join(built.Out, "e2e", name), t: t, out: built.Out,
	}

	for _, program := range []string{l.Program, l.Kubectl} {
		if _, err := os.Stat(program); err != nil {
			hosttest.NotBuilt(t, fmt.Errorf("%w: run make build", err))
		}
	}

	l.Destroy()
	t.Cleanup(func() { l.Destroy() })
	evidence.OnFailure(t, built.Out, evidence.Machines{Dir: l.Dir, Support: l.support})

	return l
}

// support returns talosctl support for all machines.
func (l *UserLab) support(ctx context.Context, file string) *exec.Cmd {
	args := []string{"support", "--no-encryption", "--output", file, "--talosconfig", filepath.Join(l.Dir, "talosconfig")}

	if machines, err := lab.Open(l.Dir); err == nil {
		for _, n := range machines.Nodes() {
			args = append(args, "--nodes", n.Addr.String())
		}
	}

	//program:built talosctl
	return exec.CommandContext(ctx, l.Program, args...)
}

// Talosctl runs talosctl with the arguments. Cluster commands get the flags of this lab.
func (l *UserLab) Talosctl(patience time.Duration, args ...string) (stdout, stderr string, err error) {
	l.t.Helper()

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()

	if args[0] == "cluster" {
		args = append(args, "--state", filepath.Dir(l.Dir), "--name", filepath.Base(l.Dir))
	}

	var out, errs bytes.Buffer

	//program:built talosctl
	cmd := exec.CommandContext(ctx, l.Program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Dir(l.out), &out, &errs

	err = cmd.Run()
	l.t.Logf("talosctl %s: %v\n%s%s", strings.Join(args, " "), err, &out, &errs)

	return out.String(), errs.String(), err
}

// Create creates the lab, and waits as long as its command does.
func (l *UserLab) Create(patience time.Duration, args ...string) {
	l.t.Helper()

	if _, _, err := l.Talosctl(patience+time.Minute, append(args, "--offline", "--wait-timeout", patience.String())...); err != nil {
		l.t.Fatal(err)
	}

	l.configurations = []string{"--talosconfig", l.Open().State().TalosconfigPath()}
}

// Open opens the lab, which must exist.
func (l *UserLab) Open() *lab.Lab {
	l.t.Helper()

	machines, err := lab.Open(l.Dir)
	if err != nil {
		l.t.Fatal(err)
	}

	return machines
}

// Destroy removes the lab, if it exists, and returns how long that took.
func (l *UserLab) Destroy() time.Duration {
	l.t.Helper()

	if _, err := lab.Open(l.Dir); err != nil {
		return 0
	}

	start := time.Now()

	if _, _, err := l.Talosctl(2*time.Minute, "cluster", "destroy"); err != nil {
		l.t.Error(err)
	}

	took := time.Since(start)
	l.t.Logf("destroyed in %.1fs", took.Seconds())

	return took
}

// As returns arguments of talosctl, preceded by the lab's talosconfig.
func (l *UserLab) As(args ...string) []string {
	return append(l.configurations[:len(l.configurations):len(l.configurations)], args...)
}

// TalosctlCommand returns a command that runs talosctl as the lab's administrator, with the kubeconfig that reaches Kubernetes from this
// computer. Talosctl is simpler.
func (l *UserLab) TalosctlCommand(ctx context.Context, args ...string) *exec.Cmd {
	//program:built talosctl
	cmd := exec.CommandContext(ctx, l.Program, args...)

	machines, err := lab.Open(l.Dir)
	if err != nil {
		cmd.Err = err // the lab was removed

		return cmd
	}

	s := machines.State()
	cmd.Env = append(cmd.Environ(), "TALOSCONFIG="+s.TalosconfigPath(), "KUBECONFIG="+s.KubeconfigPath())

	return cmd
}
