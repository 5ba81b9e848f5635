// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/controllers/validation"
)

// TestNewestWarns: a machine accepts what clients generate at the newest contract. The settings that protect a machine and only warn are those that
// docs/configure.md explains.
func TestNewestWarns(t *testing.T) {
	page, err := os.ReadFile("../../docs/configure.md")
	if err != nil {
		t.Fatal(err)
	}

	out, err := generate.New("demo", "https://10.5.0.2:6443", "", generate.Options{Contract: generate.Newest, Secrets: configtest.Bundle(t)})
	if err != nil {
		t.Fatal(err)
	}

	explained := []string{
		"SecurityProfileConfig.workloadIsolation: accepted, but has no effect in this version",
		"VolumeConfig[EPHEMERAL].mount: accepted, but has no effect in this version",
	}

	want := append(slices.Clone(explained), "machine.features.diskQuotaSupport: accepted, but has no effect in this version")

	for role, text := range map[string][]byte{"control plane": out.ControlPlane, "worker": out.Worker} {
		cfg, err := config.Decode(text)
		if err != nil {
			t.Fatal(err)
		}

		if got, err := validation.Config(cfg, validate.Metal); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", role, got, err, want)
		}
	}

	for _, w := range explained {
		if !strings.Contains(string(page), w+"\n") {
			t.Errorf("docs/configure.md does not explain %q", w)
		}
	}
}
