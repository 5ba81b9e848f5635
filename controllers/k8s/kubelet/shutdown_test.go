// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"testing"
	"time"

	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/platform"
)

func TestShutdownGracePeriod(t *testing.T) {
	ours, err := Spec(k8s.KubeletConfigSpec{}, Node{Name: "n", Platform: platform.Platform{}})
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name   string
		config map[string]any
		want   time.Duration
	}{
		{"by default", ours.Config, 30 * time.Second},
		{"switched off", map[string]any{"shutdownGracePeriod": "0s"}, 0},
		{"longer", map[string]any{"shutdownGracePeriod": "10m"}, 10 * time.Minute},
		{"by priority", map[string]any{"shutdownGracePeriodByPodPriority": []any{
			map[string]any{"priority": 100000, "shutdownGracePeriodSeconds": 10},
			map[string]any{"priority": 0, "shutdownGracePeriodSeconds": 60.0},
		}}, 70 * time.Second},
		{"nothing", nil, 0},
		{"nonsense", map[string]any{"shutdownGracePeriod": []any{"a while"}}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ShutdownGracePeriod(tt.config); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
