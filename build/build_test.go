// SPDX-License-Identifier: Apache-2.0

package build

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/source"
)

func TestGraphIsWhole(t *testing.T) {
	g, err := NewGraph(Options{Root: "..", Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}

	names := map[string]bool{}
	for _, s := range g.Steps() {
		names[s.Name] = true
	}

	published := map[string]string{}

	for _, s := range g.Steps() {
		for _, need := range s.Needs {
			if !names[need] {
				t.Errorf("step %s needs %s, which does not exist", s.Name, need)
			}
		}

		for _, to := range s.Publish {
			if other := published[to]; other != "" {
				t.Errorf("steps %s and %s both publish %s", other, s.Name, to)
			}

			published[to] = s.Name
		}
	}

	for _, target := range []string{
		artifact.TargetAll, artifact.TargetKernel, artifact.TargetBoot, artifact.TargetFirmware, artifact.TargetRootfs,
		artifact.TargetImages, artifact.TargetTalos, artifact.TargetTalosctl, artifact.TargetKubectl,
	} {
		for _, step := range Expand([]string{target}) {
			if !names[step] {
				t.Errorf("target %s: there is no step %s", target, step)
			}
		}
	}
}

func TestExpand(t *testing.T) {
	for name, test := range map[string]struct{ targets, want []string }{
		"alias":       {[]string{artifact.TargetKubectl}, []string{"kubernetes"}},
		"only tools":  {[]string{artifact.TargetHostTools}, nil},
		"step":        {[]string{"runc"}, []string{"runc"}},
		"overlapping": {[]string{artifact.TargetKubectl, "runc", "kubernetes"}, []string{"kubernetes", "runc"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Expand(test.targets)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}

	if got := Expand(nil); !slices.Equal(got, Expand([]string{artifact.TargetAll})) {
		t.Errorf("no target: got %v, want all", got)
	}
}

func TestSourcesAreThere(t *testing.T) {
	if _, err := source.Of("..", rootfsSources...); err != nil {
		t.Error(err)
	}
}
