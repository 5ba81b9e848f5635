// SPDX-License-Identifier: Apache-2.0

//go:build linux

package oom

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/sys/capability"
)

func TestLowestOf(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rights capability.Rights
		own    string
		want   int
	}{
		{"all rights", capability.Rights{Effective: ^uint64(0)}, "0\n", minScore},
		{"no capability", capability.Rights{}, "-5\n", -5},
		{"in a user namespace", capability.Rights{Effective: ^uint64(0), UserNamespace: true}, "100\n", 100},
		{"no score", capability.Rights{}, "", 0},
	} {
		if got := lowestOf(tt.rights, tt.own); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

// systemd gives a user's processes a score of 100 or 200, which they cannot lower without permission.
func TestAllowedUnderRaisedScore(t *testing.T) {
	real := lowest
	lowest = func() int { return 200 }

	t.Cleanup(func() { lowest = real })

	for score, want := range map[int]int{-998: 200, 0: 200, 100: 200, 300: 300} {
		if got := Allowed(score); got != want {
			t.Errorf("%d: got %d, want %d", score, got, want)
		}
	}
}

// The kernel accepts the allowed score for a process with the score of this one.
func TestAllowed(t *testing.T) {
	child := exec.CommandContext(t.Context(), "sleep", "60")
	if err := child.Start(); err != nil {
		t.Skipf("no child: %v", err)
	}

	defer child.Wait()
	defer child.Process.Kill()

	path := "/proc/" + strconv.Itoa(child.Process.Pid) + "/oom_score_adj"

	for _, score := range []int{300, 0, -1, -998} {
		want := strconv.Itoa(Allowed(score))

		// A raised score cannot be lowered again without permission.
		if err := os.WriteFile(path, []byte(want), 0); err != nil {
			t.Errorf("%d: %v", score, err)
		}

		if got, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%d: got %s, %v, want %s", score, got, err, want)
		}
	}
}
