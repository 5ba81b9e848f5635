// SPDX-License-Identifier: Apache-2.0

//go:build linux

package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
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
// chooses by process. It has a loop of its own for the samples of memory.
func OOMController(memory Memory) controller.Controller { return &oom{memory: memory} }

type oom struct {
	memory  Memory
	watch   shortage
	actions []runtime.OOMActionSpec // the last ones
	count   int                     // of all
	fault   error
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
	settings, err := c.settings(ctx, rt)
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

			if settings, err = c.settings(ctx, rt); err != nil {
				return err
			}
		case <-wait.C:
			before := c.fault != nil

			if !c.look(settings, log) && before == (c.fault != nil) {
				continue // nothing to show
			}
		}

		if err := rt.Observe(ctx, func(ctx context.Context) error { return c.show(ctx, rt) }); err != nil {
			return err
		}

		rt.ResetRestartBackoff()
	}
}

func (c *oom) settings(ctx context.Context, rt controller.Runtime) (view.OOM, error) {
	cfg, err := fromconfig.View(ctx, rt)
	if err != nil {
		return view.OOM{}, err
	}

	return cfg.OOM(), nil
}

// look takes a sample, and ends a pod if memory is short. It reports whether it has.
func (c *oom) look(settings view.OOM, log *slog.Logger) bool {
	var sample pressure.Sample

	sample, c.fault = c.memory.Sample()
	if c.fault != nil || !c.watch.add(time.Now(), sample) {
		return false
	}

	pods, err := c.memory.Pods()
	if err != nil {
		log.Error("memory is short, and the pods are not known", "error", err)

		return false
	}

	victim, score := choose(pods, settings.ByClass, sample.Total)
	if score == 0 {
		return false
	}

	processes, err := c.memory.Kill(victim)
	if err != nil {
		log.Error("memory is short, and a pod could not be ended", "pod", victim.Path, "error", err)

		return false
	}

	c.watch.clear()

	trigger := fmt.Sprintf("%d of %d MiB available, all processes stalled for %s of %s",
		sample.Available>>20, sample.Total>>20, c.watch.stalled.Round(time.Millisecond), shortageWindow)
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

	if c.fault != nil {
		if err := typed.Set(ctx, rt, "", oomCondition, runtime.SettingConditionSpec{Cause: c.fault.Error()}); err != nil {
			return err
		}
	}

	return rt.CleanupOutputs(ctx, resource.KindOf[runtime.OOMActionSpec](""), resource.KindOf[runtime.SettingConditionSpec](""))
}
