// SPDX-License-Identifier: Apache-2.0

package cosi_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies: the core depends on no metrics or tracing library, and on no package of the operating system. Only
// package etcd depends on the client of etcd.
func TestDependencies(t *testing.T) {
	const module = "github.com/seed-59268b81/talos/"

	list := func(args ...string) []string {
		out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}

		return strings.Fields(string(out))
	}

	for _, p := range list("./...") {
		name := strings.TrimPrefix(p, module+"cosi/")

		for _, dep := range list("-deps", p) {
			inside, own := strings.CutPrefix(dep, module)
			optional := strings.HasPrefix(dep, "github.com/prometheus/") || strings.HasPrefix(dep, "go.opentelemetry.io/") ||
				strings.HasPrefix(dep, "go.etcd.io/etcd/")

			switch {
			case own && !strings.HasPrefix(inside, "cosi") && !strings.HasPrefix(inside, "api/cosi/"):
				t.Errorf("%s depends on %s", p, dep)
			case optional && name != "cosiprom" && name != "cosiotel" && name != "etcd":
				t.Errorf("%s depends on %s", p, dep)
			}
		}
	}
}
