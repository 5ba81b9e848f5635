// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/cosi/resource"
	configres "github.com/seed-59268b81/talos/resources/config"
)

const text = `# the whole machine
version: v1alpha1
machine:
  type: worker # a comment
---
apiVersion: v1alpha1
kind: HostnameConfig
hostname: one
`

func TestMachineConfigKeepsTheText(t *testing.T) {
	if err := configres.Register(); err != nil {
		t.Fatal(err)
	}

	cfg, err := config.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	r := resource.New[configres.MachineConfigSpec]("", configres.ActiveID)
	*r.TypedSpec() = configres.NewMachineConfigSpec(cfg)

	printed, err := resource.MarshalYAML(r)
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(text) {
		if !strings.Contains(string(printed), strings.TrimSpace(line)) {
			t.Errorf("printed form lacks %q:\n%s", line, printed)
		}
	}

	r.Metadata().SetVersion(1)

	wire, err := resource.MarshalWire(r)
	if err != nil {
		t.Fatal(err)
	}

	back, err := resource.UnmarshalWire(wire, false)
	if err != nil {
		t.Fatal(err)
	}

	if !resource.Equal(r, back) {
		t.Errorf("over the wire: got %v, want %v", back.Spec(), r.Spec())
	}

	if got := back.Spec().(*configres.MachineConfigSpec).Config().Documents(); len(got) != 2 {
		t.Error("the second document is lost over the wire")
	}
}
