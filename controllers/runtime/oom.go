// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"log/slog"
	"maps"
	"strconv"
	"time"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/controllers/runtime/oomrules"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/pressure"
)

// Memory is the memory of the machine.
type Memory interface {
	Sample() (pressure.Sample, error)
	Pods() ([]pressure.Pod, error)
	// Usages returns the usage of each class of cgroups.
	Usages() map[pressure.Class]pressure.Usage
	// Kill ends all processes of a pod, and returns them.
	Kill(pressure.Pod) ([]string, error)
}

const (
	oomCondition = "oom"
	// oomActions is how many of the last OOMActions are kept.
	oomActions = 30
	// oomRetry is how often it is tried to read the memory when the kernel does not tell.
	oomRetry = time.Minute
)

// OOMController ends a pod when the machine is short of memory: before the kernel does it, which takes minutes in which nothing runs, and
// chooses by process. It has a loop of its own for the samples of memory. Expressions of the configuration take the place of its own rules
// as long as they can be evaluated.
func OOMController(memory Memory) controller.Controller {
	return &oom{memory: memory, faults: map[string]string{}}
}

type oom struct {
	memory  Memory
	watch   shortage
	rules   oomrules.Rules
	texts   [2]string // of the trigger and the ranking
	trigger oomrules.Watch
	actions []runtime.OOMActionSpec // the last ones
	count   int                     // of all
	fault   error
	// faults are what is wrong with expressions, by their keys.
	faults map[string]string
}

// Name implements controller.Controller.
func (*oom) Name() string { return "runtime.OOMController" }

// Inputs implements controller.Controller.
func (*oom) Inputs() []controller.Input { return []controller.Input{fromconfig.Input()} }

// Outputs implements controller.Controller.
func (*oom) Outputs() []controller.Output {
	return []controller.Output{
		controller.Out[runtime.OOMActionSpec](controller.Exclusive), controller.Out[runtime.SettingConditionSpec](controller.Shared),
	}
}

// Run implements controller.Controller.
func (c *oom) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	settings, err := c.settings(ctx, rt, log)
	if err != nil {
		return err
	}

	for {
		wait := time.NewTimer(settings.Interval)
		if c.fault != nil {
			wait.Reset(oomRetry)
		}

		select {
		case <-ctx.Done():
			wait.Stop()

			return nil
		case <-rt.Events():
			wait.Stop()

			if settings, err = c.settings(ctx, rt, log); err != nil {
				return err
			}
		case <-wait.C:
			before := c.conditions()

			if !c.look(settings, log) && maps.Equal(before, c.conditions()) {
				continue // nothing to show
			}
		}

		if err := rt.Observe(ctx, func(ctx context.Context) error { return c.show(ctx, rt) }); err != nil {
			return err
		}

		rt.ResetRestartBackoff()
	}
}

func (c *oom) settings(ctx context.Context, rt controller.Runtime, log *slog.Logger) (view.OOM, error) {
	cfg, err := fromconfig.View(ctx, rt)
	if err != nil {
		return view.OOM{}, err
	}

	c.compile(cfg.OOM(), log)

	return cfg.OOM(), nil
}

// look takes a sample, and ends a pod if memory is short. It reports whether it has.
func (c *oom) look(settings view.OOM, log *slog.Logger) bool {
	var sample pressure.Sample

	sample, c.fault = c.memory.Sample()
	if c.fault != nil {
		return false
	}

	short, trigger := c.short(sample, log)
	if !short {
		return false
	}

	pods, err := c.memory.Pods()
	if err != nil {
		log.Error("memory is short, and the pods are not known", "error", err)

		return false
	}

	victim, score := c.victim(pods, settings.ByClass, sample.Total, log)
	if score == 0 {
		return false
	}

	processes, err := c.memory.Kill(victim)
	if err != nil {
		log.Error("memory is short, and a pod could not be ended", "pod", victim.Path, "error", err)

		return false
	}

	c.watch.clear()

	log.Warn("a pod was ended because memory is short", "pod", victim.Path, "MiB", victim.Used>>20, "processes", processes, "memory", trigger)

	c.count++
	c.actions = append(c.actions, runtime.OOMActionSpec{TriggerContext: trigger, Score: score, Processes: append([]string{victim.Path}, processes...)})
	c.actions = c.actions[max(0, len(c.actions)-oomActions):]

	return true
}

func (c *oom) show(ctx context.Context, rt controller.Runtime) error {
	rt.StartTrackingOutputs()

	for i, action := range c.actions {
		if err := typed.Set(ctx, rt, "", strconv.Itoa(c.count-len(c.actions)+i+1), action); err != nil {
			return err
		}
	}

	for id, cause := range c.conditions() {
		if err := typed.Set(ctx, rt, "", id, runtime.SettingConditionSpec{Cause: cause}); err != nil {
			return err
		}
	}

	return rt.CleanupOutputs(ctx, resource.KindOf[runtime.OOMActionSpec](""), resource.KindOf[runtime.SettingConditionSpec](""))
}
