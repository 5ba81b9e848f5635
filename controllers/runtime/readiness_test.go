// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/resources/runtime"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

func TestJudge(t *testing.T) {
	ready := observed{
		configured: true, expected: []string{"apid", "etcd"}, timeSynced: true,
		services: map[string]serviceres.ServiceSpec{"apid": {Running: true, Healthy: true}, "etcd": {Running: true, Healthy: true}},
		pods:     map[string]bool{"kube-apiserver": true}, expectsNode: true, nodename: "n", nodeReady: true,
	}

	with := func(change func(*observed)) observed {
		o := ready
		o.services = map[string]serviceres.ServiceSpec{"apid": ready.services["apid"], "etcd": ready.services["etcd"]}
		change(&o)

		return o
	}

	status := func(stage runtime.MachineStage, isReady bool, unmet ...runtime.UnmetCondition) runtime.MachineStatusSpec {
		return runtime.MachineStatusSpec{Stage: stage, Status: runtime.MachineStatusStatus{Ready: isReady, UnmetConditions: unmet}}
	}

	for _, tt := range []struct {
		name string
		in   observed
		last runtime.MachineStage
		want runtime.MachineStatusSpec
	}{
		{"all well", ready, runtime.StageBooting, status(runtime.StageRunning, true)},
		{"no configuration yet", observed{}, runtime.StageUnknown, status(runtime.StageBooting, false)},
		{
			"a configuration that cannot be used", observed{failure: "line 8: not base64"}, runtime.StageUnknown,
			status(runtime.StageBooting, false, runtime.UnmetCondition{Name: "configuration", Reason: "line 8: not base64"}),
		},
		{"maintenance", observed{maintenance: true}, runtime.StageBooting, status(runtime.StageMaintenance, true)},
		{"rebooting", with(func(o *observed) { o.power = runtime.PowerReboot }), runtime.StageRunning, status(runtime.StageRebooting, false)},
		{"reset", with(func(o *observed) { o.power, o.reset = runtime.PowerShutdown, true }), runtime.StageRunning, status(runtime.StageResetting, false)},
		{"shutting down", with(func(o *observed) { o.power = runtime.PowerShutdown }), runtime.StageRunning, status(runtime.StageShuttingDown, false)},
		{
			"etcd not there yet", with(func(o *observed) { delete(o.services, "etcd") }), runtime.StageBooting,
			status(runtime.StageBooting, false, runtime.UnmetCondition{Name: "services", Reason: "etcd not running"}),
		},
		{
			"etcd sick while running", with(func(o *observed) { o.services["etcd"] = serviceres.ServiceSpec{Running: true} }), runtime.StageRunning,
			status(runtime.StageRunning, false, runtime.UnmetCondition{Name: "services", Reason: "etcd not healthy"}),
		},
		{
			"everything else unmet", with(func(o *observed) {
				o.timeSynced, o.network, o.nodeReady = false, []string{"addresses", "hostname"}, false
				o.pods = map[string]bool{"b": false, "a": false, "c": true}
			}), runtime.StageRunning,
			status(runtime.StageRunning, false,
				runtime.UnmetCondition{Name: "time", Reason: "time is not synced"},
				runtime.UnmetCondition{Name: "network", Reason: "waiting on: addresses, hostname"},
				runtime.UnmetCondition{Name: "staticPods", Reason: "a not ready, b not ready"},
				runtime.UnmetCondition{Name: "nodeReady", Reason: `node "n" is not ready`}),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, judge(tt.in, tt.last)); d != "" {
				t.Errorf("want (-), got (+):\n%s", d)
			}
		})
	}
}
