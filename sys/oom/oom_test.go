// SPDX-License-Identifier: Apache-2.0

//go:build linux

package oom

import (
	"os"
	"path/filepath"
	"testing"
)

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	lowers := filepath.Join(dir, "lowers")

	if err := os.WriteFile(lowers, []byte("-500\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name, path string
		want       int
	}{
		{"one that may lower", lowers, minScore},
		{"no such file", filepath.Join(dir, "absent"), 0},
	} {
		if got := probe(tt.path); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}

	if left, err := os.ReadFile(lowers); err != nil || string(left) != "-500\n" {
		t.Errorf("the probe left %q, %v", left, err)
	}
}

// What is allowed is what the kernel lets this process write.
func TestAllowed(t *testing.T) {
	before, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Fatal(err)
	}

	for _, score := range []int{-998, -1, 0, 300} {
		if got := Allowed(score); got != score && got != lowest() {
			t.Errorf("%d: got %d, want it or %d", score, got, lowest())
		}
	}

	if after, err := os.ReadFile("/proc/self/oom_score_adj"); err != nil || string(after) != string(before) {
		t.Errorf("this process had %q and has %q, %v", before, after, err)
	}
}
