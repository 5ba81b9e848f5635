// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/resources/runtime"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// observed has the inputs of judge.
type observed struct {
	maintenance bool
	power       runtime.PowerAction
	reset       bool
	configured  bool
	// failure is why a configuration that was found cannot be used.
	failure string
	// expected services, by the role of the machine.
	expected []string
	services map[string]serviceres.ServiceSpec
	// timeSynced, and the parts of the network that are not ready.
	timeSynced bool
	network    []string
	// pods are the static pods with whether each is ready.
	pods map[string]bool
	// expectsNode is false for a machine that does not register with Kubernetes.
	expectsNode bool
	nodename    string
	nodeReady   bool
}

// judge returns the stage and the readiness. A machine that once ran stays in the stage running, even when it is not ready.
func judge(o observed, last runtime.MachineStage) runtime.MachineStatusSpec {
	switch {
	case o.reset:
		return runtime.MachineStatusSpec{Stage: runtime.StageResetting}
	case o.power == runtime.PowerReboot:
		return runtime.MachineStatusSpec{Stage: runtime.StageRebooting}
	case o.power == runtime.PowerShutdown:
		return runtime.MachineStatusSpec{Stage: runtime.StageShuttingDown}
	case o.maintenance:
		return runtime.MachineStatusSpec{Stage: runtime.StageMaintenance, Status: runtime.MachineStatusStatus{Ready: true}}
	case !o.configured && o.failure != "":
		return runtime.MachineStatusSpec{Stage: runtime.StageBooting, Status: runtime.MachineStatusStatus{
			UnmetConditions: []runtime.UnmetCondition{{Name: "configuration", Reason: o.failure}},
		}}
	case !o.configured:
		return runtime.MachineStatusSpec{Stage: runtime.StageBooting}
	}

	unmet := o.unmet()
	stage := runtime.StageBooting

	if last == runtime.StageRunning || o.booted() {
		stage = runtime.StageRunning
	}

	return runtime.MachineStatusSpec{Stage: stage, Status: runtime.MachineStatusStatus{
		Ready: stage == runtime.StageRunning && len(unmet) == 0, UnmetConditions: unmet,
	}}
}

// booted reports whether every expected service is up.
func (o observed) booted() bool {
	return !slices.ContainsFunc(o.expected, func(id string) bool { return !o.services[id].Up() })
}

func (o observed) unmet() []runtime.UnmetCondition {
	var unmet []runtime.UnmetCondition

	add := func(name, reason string, args ...any) {
		unmet = append(unmet, runtime.UnmetCondition{Name: name, Reason: fmt.Sprintf(reason, args...)})
	}

	if !o.timeSynced {
		add("time", "time is not synced")
	}

	if len(o.network) > 0 {
		add("network", "waiting on: %s", strings.Join(o.network, ", "))
	}

	var waiting []string

	for _, id := range o.expected {
		switch s := o.services[id]; {
		case !s.Running:
			waiting = append(waiting, id+" not running")
		case !s.Up():
			waiting = append(waiting, id+" not healthy")
		}
	}

	if len(waiting) > 0 {
		add("services", "%s", strings.Join(waiting, ", "))
	}

	var pods []string

	for name, ready := range o.pods {
		if !ready {
			pods = append(pods, name+" not ready")
		}
	}

	if len(pods) > 0 {
		slices.Sort(pods)
		add("staticPods", "%s", strings.Join(pods, ", "))
	}

	if o.expectsNode && !o.nodeReady {
		add("nodeReady", "node %q is not ready", o.nodename)
	}

	return unmet
}
