// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"log/slog"

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

// MachineStatusController says what the machine is doing and what it still waits for, and tells each change as an
// event.
func MachineStatusController(publish func(proto.Message)) controller.Controller {
	last := runtime.MachineStatusSpec{}

	return &controller.Reconciler{
		ControllerName: "runtime.MachineStatusController",
		Reads: []controller.Input{
			controller.In[runtime.PowerRequestSpec](controller.Weak, "", runtime.PowerRequestID),
			controller.In[runtime.MaintenanceServiceRequestSpec](controller.Weak, "", runtime.MaintenanceServiceRequestID),
			controller.In[config.MachineTypeSpec](controller.Weak, "", config.MachineTypeID),
			controller.In[timeres.StatusSpec](controller.Weak, "", timeres.StatusID),
			controller.In[network.StatusSpec](controller.Weak, "", network.StatusID),
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
	var o observed

	power, err := typed.Find[runtime.PowerRequestSpec](ctx, rt, "", runtime.PowerRequestID)
	if err != nil {
		return o, err
	}

	if power != nil {
		o.power = power.TypedSpec().Action
	}

	maintenance, err := typed.Find[runtime.MaintenanceServiceRequestSpec](ctx, rt, "", runtime.MaintenanceServiceRequestID)
	if err != nil {
		return o, err
	}

	role, err := typed.Find[config.MachineTypeSpec](ctx, rt, "", config.MachineTypeID)
	if err != nil {
		return o, err
	}

	o.configured = role != nil
	o.maintenance = maintenance != nil && role == nil
	o.expected = []string{"apid", "cri", "kubelet"}

	if role != nil && role.TypedSpec().MachineType.IsControlPlane() {
		o.expected = append(o.expected, "etcd", "trustd")
	}

	if err := o.observeNode(ctx, rt); err != nil {
		return o, err
	}

	return o, o.observeKubernetes(ctx, rt)
}

func (o *observed) observeNode(ctx context.Context, rt controller.Runtime) error {
	clock, err := typed.Find[timeres.StatusSpec](ctx, rt, "", timeres.StatusID)
	if err != nil {
		return err
	}

	o.timeSynced = clock != nil && (clock.TypedSpec().Synced || clock.TypedSpec().SyncDisabled)

	net, err := typed.Find[network.StatusSpec](ctx, rt, "", network.StatusID)
	if err != nil {
		return err
	}

	var status network.StatusSpec
	if net != nil {
		status = *net.TypedSpec()
	}

	for _, part := range []struct {
		name  string
		ready bool
	}{
		{"addresses", status.AddressReady},
		{"connectivity", status.ConnectivityReady},
		{"hostname", status.HostnameReady},
		{"etc files", status.EtcFilesReady},
	} {
		if !part.ready {
			o.network = append(o.network, part.name)
		}
	}

	services, err := typed.List[serviceres.ServiceSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	o.services = map[string]service{}

	for _, s := range services {
		spec := s.TypedSpec()
		o.services[s.Metadata().ID()] = service{running: spec.Running, healthy: spec.Healthy, unknown: spec.Unknown}
	}

	return nil
}

func (o *observed) observeKubernetes(ctx context.Context, rt controller.Runtime) error {
	pods, err := typed.List[k8s.StaticPodStatusSpec](ctx, rt, "")
	if err != nil {
		return err
	}

	o.pods = map[string]bool{}
	for _, p := range pods {
		o.pods[p.Metadata().ID()] = podReady(p.TypedSpec().PodStatus)
	}

	nodename, err := typed.Find[k8s.NodenameSpec](ctx, rt, "", k8s.NodenameID)
	if err != nil || nodename == nil || nodename.TypedSpec().SkipNodeRegistration {
		return err
	}

	o.expectsNode, o.nodename = true, nodename.TypedSpec().Nodename

	node, err := typed.Find[k8s.NodeStatusSpec](ctx, rt, "", o.nodename)
	if err != nil {
		return err
	}

	o.nodeReady = node != nil && node.TypedSpec().NodeReady

	return nil
}

// podReady reads the condition of that name in a pod's status.
func podReady(status map[string]any) bool {
	conditions, _ := status["conditions"].([]any)

	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == "Ready" {
			return condition["status"] == "True"
		}
	}

	return false
}
