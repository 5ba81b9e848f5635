// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hardware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/hardware"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/pci"
)

// PCI is the bus; pci.Bus outside of tests.
type PCI interface {
	Devices() ([]pci.Device, error)
	HasDriver(name string) bool
	Rebind(address, driver string) error
}

// retry is how often a rebinding that was not possible is tried again: a device may be plugged in.
const retry = 30 * time.Second

// PCIDriverRebindController gives PCI devices the drivers of the PCIDriverRebindConfigs, and those that the kernel chooses when there is
// no such config any more. It also runs when a module was loaded, which may be the driver.
func PCIDriverRebindController(bus PCI) controller.Controller {
	c := &rebinds{bus: bus, changed: map[string]bool{}}

	return &controller.Reconciler{
		ControllerName: "hardware.PCIDriverRebindController",
		Reads: []controller.Input{
			controller.In[hardware.PCIDriverRebindConfigSpec](controller.Weak, ""),
			controller.In[runtime.LoadedKernelModuleSpec](controller.Weak, ""),
		},
		Writes: []controller.Output{
			controller.Out[hardware.PCIDriverRebindStatusSpec](controller.Exclusive), controller.Out[runtime.SettingConditionSpec](controller.Shared),
		},
		Cleanup: []resource.Kind{
			resource.KindOf[hardware.PCIDriverRebindStatusSpec](""), resource.KindOf[runtime.SettingConditionSpec](""),
		},
		Reconcile: c.reconcile,
	}
}

type rebinds struct {
	bus PCI
	// changed are the addresses of devices whose driver is not the kernel's choice.
	changed map[string]bool
	again   *time.Timer
}

func (c *rebinds) reconcile(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
	specs, err := typed.List[hardware.PCIDriverRebindConfigSpec](ctx, rt, "")
	if err != nil || len(specs) == 0 && len(c.changed) == 0 {
		return err
	}

	devices, err := c.bus.Devices()
	if err != nil {
		return err
	}

	if c.again != nil {
		c.again.Stop()
	}

	c.restore(devices, specs, log)

	failed := false

	for _, r := range specs {
		spec := *r.TypedSpec()

		err := c.rebind(devices, spec)
		if err == nil {
			err = typed.Set(ctx, rt, "", spec.PCIID, hardware.PCIDriverRebindStatusSpec(spec))
			if err != nil {
				return err
			}

			continue
		}

		if err := typed.Set(ctx, rt, "", "pci/"+spec.PCIID, runtime.SettingConditionSpec{Cause: err.Error()}); err != nil {
			return err
		}

		failed = true
	}

	if failed {
		c.again = time.AfterFunc(retry, rt.QueueReconcile)
	}

	return nil
}

func matches(d pci.Device, id string) bool { return d.Address == id || d.ID == id }

// rebind gives all devices of a config their driver.
func (c *rebinds) rebind(devices []pci.Device, spec hardware.PCIDriverRebindConfigSpec) error {
	if !c.bus.HasDriver(spec.TargetDriver) {
		return fmt.Errorf("the kernel has no driver %s: load its module by a KernelModuleConfig", spec.TargetDriver)
	}

	var (
		errs  []error
		found bool
	)

	for _, d := range devices {
		if !matches(d, spec.PCIID) {
			continue
		}

		found = true

		if d.Driver == spec.TargetDriver {
			continue
		}

		c.changed[d.Address] = true
		errs = append(errs, c.bus.Rebind(d.Address, spec.TargetDriver))
	}

	if !found {
		return errors.New("there is no such PCI device")
	}

	return errors.Join(errs...)
}

// restore gives devices without a config the driver that the kernel chooses.
func (c *rebinds) restore(devices []pci.Device, specs []*resource.Typed[hardware.PCIDriverRebindConfigSpec], log *slog.Logger) {
	for _, d := range devices {
		wanted := false
		for _, r := range specs {
			wanted = wanted || matches(d, r.TypedSpec().PCIID)
		}

		if wanted || !c.changed[d.Address] {
			continue
		}

		delete(c.changed, d.Address)

		if err := c.bus.Rebind(d.Address, ""); err != nil {
			log.Warn("a PCI device did not get its driver back", "error", err)
		}
	}
}
