// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"context"
	"log/slog"
	"os"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/module"
	"github.com/seed-59268b81/talos/sys/uevent"
)

// HotplugController loads the drivers of the hardware: of what is there at the start, and of what comes later, as the
// kernel announces it. It shows the modules that are loaded.
type HotplugController struct{ Loader *module.Loader }

// Name implements controller.Controller.
func (*HotplugController) Name() string { return "runtime.HotplugController" }

// Inputs implements controller.Controller.
func (*HotplugController) Inputs() []controller.Input {
	return []controller.Input{controller.In[runtime.KernelModuleSpecSpec](controller.Weak, "")}
}

// Outputs implements controller.Controller.
func (*HotplugController) Outputs() []controller.Output {
	return []controller.Output{controller.Out[runtime.LoadedKernelModuleSpec](controller.Exclusive)}
}

// Run implements controller.Controller.
func (c *HotplugController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	events := make(chan uevent.Event, 256)
	failed := make(chan error, 1)

	// What comes between the look at what is there and the first event must not be missed: listen first.
	started := make(chan struct{})

	go func() {
		failed <- uevent.Listen(ctx, func() { close(started) }, func(e uevent.Event) {
			select {
			case events <- e:
			case <-ctx.Done():
			}
		})
	}()

	select {
	case <-started:
	case err := <-failed:
		return err
	}

	if err := c.Loader.Coldplug("/sys"); err != nil {
		log.WarnContext(ctx, "not every driver could be loaded", "error", err)
	}

	for {
		if err := c.show(ctx, rt); err != nil {
			return err
		}

		rt.ResetRestartBackoff()

		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-rt.Events():
		case e := <-events:
			if !c.handle(ctx, e, log) {
				continue
			}
		}
	}
}

// handle tells whether the modules may have changed.
func (c *HotplugController) handle(ctx context.Context, e uevent.Event, log *slog.Logger) bool {
	if e.Vars["SUBSYSTEM"] == "module" {
		return true
	}

	alias := e.Vars["MODALIAS"]
	if e.Action != uevent.Add || alias == "" {
		return false
	}

	if err := c.Loader.Hotplug(alias); err != nil {
		log.WarnContext(ctx, "the driver of a device could not be loaded", "device", e.Devpath, "alias", alias, "error", err)
	}

	return true
}

// show keeps one resource for each module.
func (c *HotplugController) show(ctx context.Context, rt controller.Runtime) error {
	text, err := os.ReadFile("/proc/modules")
	if err != nil {
		return err
	}

	loaded, err := module.ParseLoaded(text)
	if err != nil {
		return err
	}

	for _, m := range loaded {
		// The reference count changes all the time and says nothing; only coming and going is shown.
		spec := runtime.LoadedKernelModuleSpec{Size: int(m.Size), Dependencies: m.Dependencies, State: m.State, Address: m.Address}
		if err := typed.Set(ctx, rt, "", m.Name, spec); err != nil {
			return err
		}
	}

	return nil
}
