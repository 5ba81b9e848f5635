// SPDX-License-Identifier: Apache-2.0

package e2e

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

	"github.com/seed-59268b81/talos/components/hosttools/hosttest"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/test/cluster"
	"github.com/seed-59268b81/talos/test/evidence"
)

// userLab is a lab that is made the way users make theirs: by talosctl cluster.
type userLab struct {
	t              *testing.T
	out, state     string
	name, program  string
	configurations []string // flags that name the lab's talosconfig
}

// newUserLab finds talosctl, and removes what a run that was killed left of the lab.
func newUserLab(t *testing.T, name string) *userLab {
	t.Helper()

	out, err := cluster.Out()
	if err != nil {
		t.Fatal(err)
	}

	l := &userLab{t: t, out: out, state: filepath.Join(out, "e2e"), name: name, program: filepath.Join(out, "bin", "talosctl")}
	if _, err := os.Stat(l.program); err != nil {
		hosttest.NotBuilt(t, fmt.Errorf("%w: run make build", err))
	}

	l.destroy()
	t.Cleanup(l.destroy)
	evidence.OnFailure(t, out, evidence.Machines{Dir: filepath.Join(l.state, name), Support: l.support})

	return l
}

// support is talosctl support for all machines.
func (l *userLab) support(ctx context.Context, file string) *exec.Cmd {
	dir := filepath.Join(l.state, l.name)
	args := []string{"support", "--no-encryption", "--output", file, "--talosconfig", filepath.Join(dir, "talosconfig")}

	if machines, err := lab.Open(dir); err == nil {
		for _, n := range machines.Nodes() {
			args = append(args, "--nodes", n.Addr.String())
		}
	}

	//program:built talosctl
	return exec.CommandContext(ctx, l.program, args...)
}

// talosctl runs it with the arguments. What is of the cluster command is about this lab.
func (l *userLab) talosctl(patience time.Duration, args ...string) (stdout, stderr string, err error) {
	l.t.Helper()

	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()

	if args[0] == "cluster" {
		args = append(args, "--state", l.state, "--name", l.name)
	}

	var out, errs bytes.Buffer

	//program:built talosctl
	cmd := exec.CommandContext(ctx, l.program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Dir(l.out), &out, &errs

	err = cmd.Run()
	l.t.Logf("talosctl %s: %v\n%s%s", strings.Join(args, " "), err, &out, &errs)

	return out.String(), errs.String(), err
}

// create makes the lab, which is gone with the test.
func (l *userLab) create(patience time.Duration, args ...string) {
	l.t.Helper()

	if _, _, err := l.talosctl(patience+time.Minute, append(args, "--offline", "--wait-timeout", patience.String())...); err != nil {
		l.t.Fatal(err)
	}

	l.configurations = []string{"--talosconfig", l.open().State().TalosconfigPath()}
}

func (l *userLab) open() *lab.Lab {
	l.t.Helper()

	machines, err := lab.Open(filepath.Join(l.state, l.name))
	if err != nil {
		l.t.Fatal(err)
	}

	return machines
}

func (l *userLab) destroy() {
	l.t.Helper()

	if _, err := lab.Open(filepath.Join(l.state, l.name)); err != nil {
		return
	}

	start := time.Now()

	if _, _, err := l.talosctl(2*time.Minute, "cluster", "destroy"); err != nil {
		l.t.Error(err)
	}

	l.t.Logf("destroyed in %.1fs", time.Since(start).Seconds())
}

// as are arguments of talosctl with the lab's talosconfig before them.
func (l *userLab) as(args ...string) []string {
	return append(l.configurations[:len(l.configurations):len(l.configurations)], args...)
}
