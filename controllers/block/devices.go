// SPDX-License-Identifier: Apache-2.0

package block

import (
	"context"
	"log/slog"
	"sync"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/disk"
	"github.com/seed-59268b81/talos/sys/uevent"
)

// DevicesController publishes the kernel's block devices as BlockDevices. At each event of the kernel it reads all devices, so a lost
// event does no harm.
type DevicesController struct {
	// Sys is the mount point of sysfs.
	Sys string
	// Listen delivers the kernel's events. After it has called started, it misses none.
	Listen func(ctx context.Context, started func(), handle func(uevent.Event)) error
}

// Name implements controller.Controller.
func (*DevicesController) Name() string { return "block.DevicesController" }

// Inputs implements controller.Controller.
func (*DevicesController) Inputs() []controller.Input { return nil }

// Outputs implements controller.Controller.
func (*DevicesController) Outputs() []controller.Output {
	return []controller.Output{controller.Out[block.DeviceSpec](controller.Exclusive)}
}

// Run implements controller.Controller.
func (c *DevicesController) Run(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	var changed changes

	started := make(chan struct{})

	ended := guard.Go(func() error {
		return c.Listen(ctx, func() { close(started) }, func(e uevent.Event) {
			if changed.note(e) {
				rt.QueueReconcile()
			}
		})
	})

	select {
	case err := <-ended:
		return err
	case <-started:
	}

	rt.QueueReconcile()

	for {
		select {
		case err := <-ended:
			return err
		case <-rt.Events():
		}

		if err := c.reconcile(ctx, rt, changed.take()); err != nil {
			return err
		}

		rt.ResetRestartBackoff()
	}
}

func (c *DevicesController) reconcile(ctx context.Context, rt controller.Runtime, changed func(name string) bool) error {
	devices, err := disk.Scan(c.Sys)
	if err != nil {
		return err
	}

	rt.StartTrackingOutputs()

	for _, d := range devices {
		err := typed.Modify(ctx, rt, "", d.Name, func(s *block.DeviceSpec) error {
			generation := s.Generation
			if generation == 0 || changed(d.Name) {
				generation++
			}

			*s = block.DeviceSpec{
				Type: block.DeviceTypeDisk, Major: d.Major, Minor: d.Minor, DevicePath: d.Path, Generation: generation,
				PartitionNumber: d.Partition, PartitionName: d.PartitionName, Parent: d.Parent, Secondaries: d.Secondaries,
			}

			if d.Partition > 0 {
				s.Type = block.DeviceTypePartition
			}

			return nil
		})
		if err != nil {
			return err
		}
	}

	return rt.CleanupOutputs(ctx, resource.KindOf[block.DeviceSpec](""))
}

// changes collects the names of devices in events of the kernel.
type changes struct {
	mu    sync.Mutex
	names map[string]bool
	all   bool
}

// note records the event, and reports whether it is of a block device.
func (c *changes) note(e uevent.Event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	switch {
	case e.Action == uevent.Overrun:
		c.all = true
	case e.Vars["SUBSYSTEM"] != "block":
		return false
	default:
		if c.names == nil {
			c.names = map[string]bool{}
		}

		c.names[e.Vars["DEVNAME"]] = true
	}

	return true
}

// take returns whether a device has changed since the last call.
func (c *changes) take() func(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	names, all := c.names, c.all
	c.names, c.all = nil, false

	return func(name string) bool { return all || names[name] }
}
