// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"log/slog"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/resources/block"
	configres "github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/runtime"
	serviceres "github.com/seed-59268b81/talos/resources/service"
)

// apidService is the id of the service without which no one can reach the machine.
const apidService = "apid"

const (
	// configurationCondition is met when the machine has a configuration.
	configurationCondition = "configuration"
	// runningCondition is met when the machine has started, in maintenance too.
	runningCondition = "running"
)

// conditionKinds are the unmet conditions of a MachineStatus that are the cluster's. Others are the machine's own.
var conditionKinds = map[string]trial.Kind{"staticPods": trial.Cluster, "nodeReady": trial.Cluster}

// conditions returns what a trial waits for. A machine that was never bootstrapped does not run either after an upgrade, so all conditions
// but the first count only when they held before. In maintenance nothing is known of what a configuration asks for: it has not held.
func conditions(apid serviceres.ServiceSpec, configured bool, s runtime.MachineStatusSpec) []trial.Condition {
	out := []trial.Condition{
		{Name: "apid", Met: apid.Up(), Why: "the API does not answer"},
		{Name: configurationCondition, Kind: trial.OwnBefore, Met: configured, Why: "the machine has no configuration"},
		{
			Name: runningCondition, Kind: trial.OwnBefore, Met: s.Stage == runtime.StageRunning || s.Stage == runtime.StageMaintenance,
			Why: "the machine is " + s.Stage.String(),
		},
	}

	why := map[string]string{}
	for _, u := range s.Status.UnmetConditions {
		why[u.Name] = u.Reason
	}

	for _, name := range []string{"time", "network", "services", "staticPods", "nodeReady"} {
		reason, unmet := why[name]

		kind, known := conditionKinds[name]
		if !known {
			kind = trial.OwnBefore
		}

		out = append(out, trial.Condition{Name: name, Kind: kind, Met: !unmet && s.Stage == runtime.StageRunning, Why: reason})
	}

	return out
}

// conditionsController passes what a trial waits for to the loop of the Controller. It is a controller of its own, since the status of the
// machine depends on its configuration.
func (c *Controller) conditionsController() controller.Controller {
	asked := c.gateways
	asked.cluster = c.cluster

	return &controller.Reconciler{
		ControllerName: "config.TrialConditionsController",
		Reads: []controller.Input{
			controller.In[serviceres.ServiceSpec](controller.Weak, "", apidService),
			controller.In[configres.MachineTypeSpec](controller.Weak, "", configres.MachineTypeID),
			controller.In[runtime.MachineStatusSpec](controller.Weak, "", runtime.MachineStatusID),
			controller.In[runtime.TrialSpec](controller.Weak, ""),
			controller.In[network.RouteStatusSpec](controller.Weak, ""),
			controller.In[block.VolumeStatusSpec](controller.Weak, ""),
			controller.In[meta.ControllerStatusSpec](controller.Weak, ""),
			controller.In[configres.MachineConfigSpec](controller.Weak, "", configres.ActiveID),
			controller.In[k8s.KubePrismEndpointsSpec](controller.Weak, "", k8s.KubePrismEndpointsID),
			controller.In[k8s.EndpointSpec](controller.Weak, ""),
			controller.In[network.NodeAddressSpec](controller.Weak, "", network.NodeAddressCurrentID),
			controller.In[runtime.PowerRequestSpec](controller.Weak, "", runtime.PowerRequestID),
		},
		Reconcile: func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
			var (
				apid   serviceres.ServiceSpec
				role   configres.MachineTypeSpec
				status runtime.MachineStatusSpec
			)

			configured := typed.Read(ctx, rt, configres.MachineTypeID, &role)
			seen := typed.Read(ctx, rt, runtime.MachineStatusID, &status)

			if _, err := typed.All(typed.Read(ctx, rt, apidService, &apid), configured, seen); err != nil || !seen.OK {
				return err
			}

			list, err := serversOf(ctx, rt, role.MachineType.IsControlPlane())
			if err != nil {
				return err
			}

			c.cluster.know(list)

			further, lost, err := furtherConditions(ctx, rt, asked, &c.images, log)
			if err != nil {
				return err
			}

			// What ends while the machine goes down says nothing about a change. It is read last: a condition that it ended was read before.
			if going := typed.Read(ctx, rt, runtime.PowerRequestID, &runtime.PowerRequestSpec{}); going.OK || going.Err != nil {
				return going.Err
			}

			c.see(sight{append(conditions(apid, configured.OK, status), further...), lost})

			return nil
		},
	}
}

// furtherConditions returns what a trial waits for beside the status of the machine, and whether the cluster is lost for its other nodes too.
func furtherConditions(ctx context.Context, rt controller.Runtime, asked *gateways, pulled *images, log *slog.Logger) ([]trial.Condition, bool, error) {
	trials, err1 := typed.List[runtime.TrialSpec](ctx, rt, "")
	routes, err2 := typed.List[network.RouteStatusSpec](ctx, rt, "")
	volumes, err3 := typed.List[block.VolumeStatusSpec](ctx, rt, "")
	failing, err4 := typed.List[meta.ControllerStatusSpec](ctx, rt, "")

	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, false, err
	}

	// running is a trial that is committed without a person, and tried is any that runs.
	running, tried, entry := "", "", false

	for _, t := range trials {
		s := t.TypedSpec()
		if s.State != runtime.TrialRunning {
			continue
		}

		tried = t.Metadata().ID()
		if !s.Confirm {
			running, entry = tried, s.ToEntry != ""
		}
	}

	asked.follow(ctx, running, gatewaysOf(routes), rt.QueueReconcile, log)

	pulled.follow(tried, rt.QueueReconcile)

	out := []trial.Condition{asked.condition(), pulled.condition(), volumesCondition(volumes), controllersCondition(failing)}
	if running == "" {
		return out, false, nil
	}

	return append(out, asked.cluster.conditions()...), asked.cluster.lost(entry), nil
}

// sight is what is seen of the machine's health.
type sight struct {
	conditions []trial.Condition
	// lost is set when the cluster is not there for its other nodes either.
	lost bool
}

// see has the loop know the conditions. The latest ones win.
func (c *Controller) see(now sight) {
	for {
		select {
		case c.seen <- now:
			return
		default:
		}

		select {
		case <-c.seen:
		default:
		}
	}
}

// noteConditions keeps what holds now, and when it held first. A trial that waits for a person does not wait for that.
func (c *Controller) noteConditions(ctx context.Context, rt controller.Runtime, now sight, log *slog.Logger) {
	t := &c.trials
	t.conditions = now.conditions
	t.first.note(now.conditions, t.now())

	if t.record.State == trial.Running && !t.record.Confirm {
		c.judge(ctx, rt, trial.Observe{Now: t.now(), Conditions: now.conditions, Lost: now.lost}, log)
	}
}
