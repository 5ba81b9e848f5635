// SPDX-License-Identifier: Apache-2.0

//go:build linux

package kernel

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/module"
	"github.com/seed-59268b81/talos/sys/uevent"
)

// HotplugController loads the drivers of the hardware that is there at the start, and of devices that the kernel announces later. It
// publishes the loaded modules.
type HotplugController struct {
	Loader *module.Loader
	// Settled is closed when the drivers of all devices were loaded once. That takes most of a second on a slow machine, and begins
	// after disks and network cards have their drivers.
	Settled <-chan struct{}
}

// Name implements controller.Controller.
func (*HotplugController) Name() string { return "runtime.HotplugController" }

// Inputs implements controller.Controller.
func (*HotplugController) Inputs() []controller.Input {
	return []controller.Input{controller.In[runtime.KernelModuleSpecSpec](controller.Weak, "")}
}

// Outputs implements controller.Controller.
func (*HotplugController) Outputs() []controller.Output {
	return []controller.Output{
		controller.Out[runtime.LoadedKernelModuleSpec](controller.Exclusive),
		controller.Out[runtime.KernelModuleStatusSpec](controller.Exclusive),
	}
}

// Run implements controller.Controller.
func (c *HotplugController) Run(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	events := make(chan uevent.Event, 256)

	// Listen before the existing devices are read, so that none in between is missed.
	started := make(chan struct{})

	failed := guard.Go(func() error {
		return uevent.Listen(ctx, func() { close(started) }, func(e uevent.Event) {
			select {
			case events <- e:
			case <-ctx.Done():
			}
		})
	})

	defer func() { cancel(); <-failed }()

	select {
	case <-started:
	case err := <-failed:
		return err
	}

	select {
	case <-c.Settled: // the controller was restarted: devices that appeared in between have no event
		c.coldplug(ctx, log)
	default:
		if err := c.Loader.Cards("/sys"); err != nil {
			log.WarnContext(ctx, "not every driver of disks and network cards could be loaded", "error", err)
		}
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
			c.handle(ctx, e, log)

			for len(events) > 0 { // a module causes many events: publish once for all
				c.handle(ctx, <-events, log)
			}
		}
	}
}

func (c *HotplugController) coldplug(ctx context.Context, log *slog.Logger) {
	if err := c.Loader.Coldplug("/sys"); err != nil {
		log.WarnContext(ctx, "not every driver could be loaded", "error", err)
	}
}

// handle loads the driver of a new device.
func (c *HotplugController) handle(ctx context.Context, e uevent.Event, log *slog.Logger) {
	if e.Action == uevent.Overrun {
		c.coldplug(ctx, log)

		return
	}

	alias := e.Vars["MODALIAS"]
	if e.Action != uevent.Add || alias == "" || e.Synthetic() { // udevadm causes an event of each device, which is not new
		return
	}

	if err := c.Loader.Hotplug(alias); err != nil {
		log.WarnContext(ctx, "the driver of a device could not be loaded", "device", e.Devpath, "alias", alias, "error", err)
	}
}

// show publishes the modules that are loaded or built in.
func (c *HotplugController) show(ctx context.Context, rt controller.Runtime) error {
	text, err := os.ReadFile("/proc/modules")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without modules has no such file
		return err
	}

	loaded, err := module.ParseLoaded(text)
	if err != nil {
		return err
	}

	index, err := c.Loader.Index()
	if err != nil {
		return err
	}

	rt.StartTrackingOutputs()

	for _, name := range index.Builtin() {
		spec := runtime.KernelModuleStatusSpec{Type: runtime.KernelModuleTypeBuiltin, State: runtime.KernelModuleBuiltin}
		if err := typed.Set(ctx, rt, "", name, spec); err != nil {
			return err
		}
	}

	for _, m := range loaded {
		old, status := loadedModule(m)

		if err := errors.Join(typed.Set(ctx, rt, "", m.Name, old), typed.Set(ctx, rt, "", m.Name, status)); err != nil {
			return err
		}
	}

	return rt.CleanupOutputs(ctx, resource.KindOf[runtime.LoadedKernelModuleSpec](""), resource.KindOf[runtime.KernelModuleStatusSpec](""))
}

// loadedModule leaves out the reference count, which changes all the time.
func loadedModule(m module.Loaded) (runtime.LoadedKernelModuleSpec, runtime.KernelModuleStatusSpec) {
	old := runtime.LoadedKernelModuleSpec{Size: int(m.Size), Dependencies: m.Dependencies, State: m.State, Address: m.Address}
	status := runtime.KernelModuleStatusSpec{
		Type: runtime.KernelModuleTypeDynamic, Size: int(m.Size), Dependencies: m.Dependencies, Address: m.Address,
	}

	switch m.State {
	case "Loading":
		status.State = runtime.KernelModuleLoading
	case "Unloading":
		status.State = runtime.KernelModuleUnloading
	default:
		status.State = runtime.KernelModuleLive
	}

	return old, status
}
