// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	serviceres "github.com/seed-59268b81/talos/resources/service"
	timeres "github.com/seed-59268b81/talos/resources/time"
)

// MachineStatusController publishes what the machine is doing and what it still waits for, and sends an event at each change.
func MachineStatusController(publish func(proto.Message)) controller.Controller {
	last := runtime.MachineStatusSpec{}

	return &controller.Reconciler{
		ControllerName: "runtime.MachineStatusController",
		Reads: []controller.Input{
			controller.In[runtime.PowerRequestSpec](controller.Weak, "", runtime.PowerRequestID),
			controller.In[runtime.MaintenanceServiceRequestSpec](controller.Weak, "", runtime.MaintenanceServiceRequestID),
			controller.In[config.MachineTypeSpec](controller.Weak, "", config.MachineTypeID),
			controller.In[config.ConfigFailureSpec](controller.Weak, "", config.FailureID),
			controller.In[timeres.StatusSpec](controller.Weak, "", timeres.StatusID),
			controller.In[network.StatusSpec](controller.Weak, "", network.StatusID),
			controller.In[network.ProbeStatusSpec](controller.Weak, ""),
			controller.In[serviceres.ServiceSpec](controller.Weak, ""),
			controller.In[k8s.StaticPodStatusSpec](controller.Weak, ""),
			controller.In[k8s.NodenameSpec](controller.Weak, "", k8s.NodenameID),
			controller.In[k8s.NodeStatusSpec](controller.Weak, ""),
		},
		Writes: []controller.Output{controller.Out[runtime.MachineStatusSpec](controller.Exclusive)},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			o, err := observe(ctx, rt)
			if err != nil {
				return err
			}

			next := judge(o, last.Stage)
			changed := !proto.Equal(statusEvent(last), statusEvent(next))
			last = next

			if changed {
				publish(statusEvent(next))
			}

			return typed.Set(ctx, rt, "", runtime.MachineStatusID, next)
		},
	}
}

func statusEvent(spec runtime.MachineStatusSpec) *machine.MachineStatusEvent {
	status := &machine.MachineStatusEvent_MachineStatus{Ready: spec.Status.Ready}
	for _, u := range spec.Status.UnmetConditions {
		status.UnmetConditions = append(status.UnmetConditions, &machine.MachineStatusEvent_MachineStatus_UnmetCondition{
			Name: u.Name, Reason: u.Reason,
		})
	}

	return &machine.MachineStatusEvent{Stage: machine.MachineStatusEvent_MachineStage(spec.Stage), Status: status}
}

func observe(ctx context.Context, rt controller.Runtime) (observed, error) {
	var (
		power    runtime.PowerRequestSpec
		request  runtime.MaintenanceServiceRequestSpec
		role     config.MachineTypeSpec
		failure  config.ConfigFailureSpec
		clock    timeres.StatusSpec
		net      network.StatusSpec
		nodename k8s.NodenameSpec
		node     k8s.NodeStatusSpec
	)

	maintenance := typed.Read(ctx, rt, runtime.MaintenanceServiceRequestID, &request)
	configured := typed.Read(ctx, rt, config.MachineTypeID, &role)
	registers := typed.Read(ctx, rt, k8s.NodenameID, &nodename)

	if err := errors.Join(
		maintenance.Err, configured.Err, registers.Err,
		typed.Read(ctx, rt, runtime.PowerRequestID, &power).Err,
		typed.Read(ctx, rt, config.FailureID, &failure).Err,
		typed.Read(ctx, rt, timeres.StatusID, &clock).Err,
		typed.Read(ctx, rt, network.StatusID, &net).Err,
		typed.Read(ctx, rt, nodename.Nodename, &node).Err,
	); err != nil {
		return observed{}, err
	}

	services, err := typed.List[serviceres.ServiceSpec](ctx, rt, "")
	if err != nil {
		return observed{}, err
	}

	pods, err := typed.List[k8s.StaticPodStatusSpec](ctx, rt, "")
	if err != nil {
		return observed{}, err
	}

	o := observed{
		power: power.Action, reset: power.Reset, configured: configured.OK, maintenance: maintenance.OK && !configured.OK, failure: failure.Error,
		expected: []string{"apid", "cri", "kubelet"}, services: map[string]serviceres.ServiceSpec{}, pods: map[string]bool{},
		timeSynced:  clock.Usable(),
		expectsNode: registers.OK && !nodename.SkipNodeRegistration, nodename: nodename.Nodename, nodeReady: node.NodeReady,
	}

	if role.MachineType.IsControlPlane() {
		o.expected = append(o.expected, "etcd", "trustd")
	}

	failed, err := failedProbes(ctx, rt)
	if err != nil {
		return observed{}, err
	}

	for _, part := range []struct {
		name  string
		ready bool
	}{
		{"addresses", net.AddressReady},
		{"connectivity" + failed, net.ConnectivityReady},
		{"hostname", net.HostnameReady},
		{"etc files", net.EtcFilesReady},
	} {
		if !part.ready {
			o.network = append(o.network, part.name)
		}
	}

	for _, s := range services {
		o.services[s.Metadata().ID()] = *s.TypedSpec()
	}

	for _, p := range pods {
		o.pods[p.Metadata().ID()] = podReady(p.TypedSpec().PodStatus)
	}

	return o, nil
}

// failedProbes returns the errors of probes, as a part of a sentence.
func failedProbes(ctx context.Context, rt controller.Runtime) (string, error) {
	results, err := typed.List[network.ProbeStatusSpec](ctx, rt, "")
	if err != nil {
		return "", err
	}

	var texts []string

	for _, r := range results {
		if s := r.TypedSpec(); !s.Success {
			texts = append(texts, fmt.Sprintf("probe %s: %s", r.Metadata().ID(), s.LastError))
		}
	}

	if len(texts) == 0 {
		return "", nil
	}

	return " (" + strings.Join(texts, "; ") + ")", nil
}

// podReady reports whether the condition Ready in a pod's status is true.
func podReady(status map[string]any) bool {
	conditions, _ := status["conditions"].([]any)

	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == "Ready" {
			return condition["status"] == "True"
		}
	}

	return false
}
