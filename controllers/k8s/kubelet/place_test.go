// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/platform"
)

func TestConfigurationInPlace(t *testing.T) {
	const gate = "KubeletInUserNamespace"

	container := func(l platform.Limits) platform.Platform {
		return platform.Platform{Mode: platform.Container, Limits: l}
	}
	usual := object{
		"failCgroupV1": nil, "oomScoreAdj": -450, "protectKernelDefaults": true, gate: nil, "Other": nil,
		"memory":        "384Mi",
		"systemCgroups": systemCgroups, "kubeletCgroups": kubeletCgroups,
	}

	for _, tt := range []struct {
		name  string
		place platform.Platform
		extra object
		want  object // the differences
	}{
		{"a machine with its own kernel", platform.Platform{}, nil, object{}},
		{"a privileged container", container(platform.Limits{}), nil, object{}},
		{"cgroup v1", container(platform.Limits{CgroupV1: true}), nil, object{"failCgroupV1": false, "systemCgroups": "", "kubeletCgroups": ""}},
		{"a limit of the memory", container(platform.Limits{ForeignMemory: 20 << 30}), nil, object{"memory": "20864Mi"}},
		{"no lower scores", container(platform.Limits{NoResource: true}), object{"oomScoreAdj": -1}, object{"oomScoreAdj": 0}},
		{
			"without root, with a feature gate of the configuration", container(platform.Limits{UserNamespace: true}),
			object{"featureGates": object{"Other": true}},
			object{gate: true, "Other": true, "protectKernelDefaults": false},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, err := configuration(k8s.KubeletConfigSpec{ExtraConfig: tt.extra}, Node{Platform: tt.place})
			if err != nil {
				t.Fatal(err)
			}

			got := object{}

			for key := range usual {
				got[key] = all[key]
			}

			if reserved, ok := all["systemReserved"].(object); ok {
				got["memory"] = reserved["memory"]
			}

			if gates, ok := all["featureGates"].(object); ok {
				got[gate], got["Other"] = gates[gate], gates["Other"]
			}

			if d := cmp.Diff(merge(usual, tt.want), got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestForeignDisk checks that a nearly full disk of the host does not evict pods, unless the configuration says so.
func TestForeignDisk(t *testing.T) {
	foreign := object{"memory.available": "100Mi", "nodefs.available": "1Gi", "imagefs.available": "1Gi"}

	for _, tt := range []struct {
		name  string
		mode  platform.Mode
		extra object
		want  any
	}{
		{"a machine with its own kernel", platform.Platform{}.Mode, nil, nil},
		{"a container", platform.Container, nil, foreign},
		{
			"a container whose configuration says more", platform.Container, object{"evictionHard": object{"nodefs.available": "5%"}},
			merge(foreign, object{"nodefs.available": "5%"}),
		},
	} {
		got, err := configuration(k8s.KubeletConfigSpec{ExtraConfig: tt.extra}, Node{Platform: platform.Platform{Mode: tt.mode}})
		if err != nil {
			t.Fatal(err)
		}

		if d := cmp.Diff(tt.want, got["evictionHard"]); d != "" {
			t.Errorf("%s: (-want +got):\n%s", tt.name, d)
		}

		if _, ok := got["imageGCHighThresholdPercent"]; ok != (tt.want != nil) {
			t.Errorf("%s: images are removed when the disk is full: got %t, want %t", tt.name, !ok, tt.want == nil)
		}
	}
}

// TestPodPids checks that a pod cannot use up the process ids of a node, and that the configuration can change the limit.
func TestPodPids(t *testing.T) {
	for _, tt := range []struct {
		name  string
		extra object
		want  any
	}{
		{"by default", nil, podPidsLimit},
		{"as configured", object{"podPidsLimit": 100}, 100},
		{"without a limit", object{"podPidsLimit": -1}, -1},
	} {
		got, err := configuration(k8s.KubeletConfigSpec{ExtraConfig: tt.extra}, Node{})
		if err != nil || got["podPidsLimit"] != tt.want {
			t.Errorf("%s: got %v, %v, want %v", tt.name, got["podPidsLimit"], err, tt.want)
		}
	}
}
