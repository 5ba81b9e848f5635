// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestConsoleWithoutTerminal tests output to a file: a line for each finished step, a line each half minute, and no list
// of waiting steps.
func TestConsoleWithoutTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer

		c := NewConsole(&out, false)
		c.Finished("in the cache", true, 0)

		for _, step := range []string{"etcd", "flannel", "kubernetes", "talos"} {
			c.Started(step)
			time.Sleep(time.Millisecond)
		}

		c.Progress("kubernetes", "12 packages compiled")
		c.Waiting("coredns", nil)
		c.Waiting("root-image", []string{"talos"})
		c.Waiting("disk-image", []string{"root-image"})
		time.Sleep(40 * time.Second)
		c.Finished("etcd", false, 40*time.Second)
		c.Finished("flannel", false, 40*time.Second)
		c.Started("coredns")
		time.Sleep(30 * time.Second)
		c.Finished("coredns", false, 30*time.Second)
		c.Failed("kubernetes", errors.New("go build: exit status 1\nmuch more"))
		c.Finished("talos", false, 69*time.Second)
		time.Sleep(25 * time.Second)
		c.Close()

		want := `
  30.0s  … running: etcd 30s, flannel 30s, kubernetes 30s, 1 more; waiting: 3
  40.0s  etcd                          done in 40.0s
  40.0s  flannel                       done in 40.0s
  60.0s  … running: kubernetes 1m0s, talos 1m0s, coredns 20s; waiting: 2
  70.0s  coredns                       done in 30.0s
  70.0s  kubernetes                    FAILED: go build: exit status 1
  70.0s  talos                         done in 69.0s
  90.0s  … running: root-image 20s; waiting: 1
  95.0s  steps built: 4, up to date: 1
`
		if d := cmp.Diff(strings.TrimPrefix(want, "\n"), out.String()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// TestConsoleIsQuiet checks that a slow build without work prints one line.
func TestConsoleIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer

		c := NewConsole(&out, false)
		time.Sleep(time.Minute)
		c.Finished("etcd", true, 0)
		c.Close()

		if got, want := out.String(), "  60.0s  steps built: 0, up to date: 1\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestConsoleOnTerminal checks that running and waiting steps are below finished ones, and are erased before each line.
func TestConsoleOnTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer

		c := NewConsole(&out, true)
		c.Started("talos")
		c.Progress("talos", "12 packages compiled")
		c.Waiting("root-image", []string{"talos"})
		time.Sleep(1500 * time.Millisecond)
		c.Finished("talos", false, 1500*time.Millisecond)
		c.Finished("root-image", false, 0)
		c.Close()

		want := "         talos 1.0s (12 packages compiled)\n         waiting for talos: root-image\n" +
			"\x1b[2A\x1b[J" + "   1.5s  talos                         done in 1.5s\n         root-image 0.0s\n" +
			"\x1b[1A\x1b[J" + "   1.5s  root-image                    done in 0.0s\n" +
			"   1.5s  steps built: 2, up to date: 0\n"
		if d := cmp.Diff(want, out.String()); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
