// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// interrupter presses Ctrl-C when it has been written the text.
type interrupter struct {
	text   string
	cancel context.CancelFunc
	got    strings.Builder
}

func (i *interrupter) Write(p []byte) (int, error) {
	n, err := i.got.Write(p)
	if strings.Contains(i.got.String(), i.text) {
		i.cancel()
	}

	return n, err
}

func TestInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "talosconfig")
	if err := saveContext(path, startCluster(t)); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var stderr bytes.Buffer

	root := New()
	root.SetOut(&interrupter{text: "172.20.0.2: two", cancel: cancel})
	root.SetArgs([]string{"logs", "kubelet", "-f", "--talosconfig", path, "-n", "172.20.0.2"})

	if exit := Run(ctx, root, &stderr); exit != exitInterrupted || stderr.Len() > 0 {
		t.Errorf("got exit status %d and %q, want %d and nothing said", exit, &stderr, exitInterrupted)
	}
}

// TestEveryCommandIsSound: flags of a command and its parents do not collide, and each command says what it does.
func TestEveryCommandIsSound(t *testing.T) {
	var check func(cmd *cobra.Command)

	check = func(cmd *cobra.Command) {
		if err := cmd.ParseFlags(nil); err != nil {
			t.Errorf("%s: %v", cmd.CommandPath(), err)
		}

		if cmd.Short == "" {
			t.Errorf("%s: says nothing of itself", cmd.CommandPath())
		}

		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}

	root := New()
	check(root)

	for _, cmd := range root.Commands() {
		if cmd.GroupID == "" {
			t.Errorf("%s is in no group of the help", cmd.Name())
		}
	}
}
