// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hardware

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/controllers/controllertest"
	"github.com/seed-59268b81/talos/cosi/cositest"
	"github.com/seed-59268b81/talos/resources/hardware"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/sys/pci"
)

// bus is a fake with the drivers of devices.
type bus struct {
	mu      sync.Mutex
	devices map[string]pci.Device
	drivers map[string]bool
	rebound int
	listed  int
}

func (b *bus) Devices() ([]pci.Device, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.listed++

	var all []pci.Device
	for _, address := range slices.Sorted(maps.Keys(b.devices)) {
		all = append(all, b.devices[address])
	}

	return all, nil
}

func (b *bus) HasDriver(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.drivers[name]
}

func (b *bus) Rebind(address, driver string) error {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.rebound++

	d := b.devices[address]
	if d.Driver = driver; driver == "" {
		d.Driver = "natural"
	}

	b.devices[address] = d

	return nil
}

func (b *bus) plug(address, id string) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.devices[address] = pci.Device{Address: address, ID: id, Driver: "natural"}
}

func (b *bus) state() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()

	out := map[string]string{}
	for address, d := range b.devices {
		out[address] = d.Driver
	}

	return out
}

const rebind = "apiVersion: v1alpha1\nkind: PCIDriverRebindConfig\ntargetDriver: vfio-pci\nname: "

// TestRebind: all devices of a kind, and the one with an address, get the driver when it is loaded and they are plugged in, and the
// kernel's choice again without the documents.
func TestRebind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bus{devices: map[string]pci.Device{}, drivers: map[string]bool{}}
		b.plug("0000:01:00.0", "10de:2204")
		b.plug("0000:02:00.0", "10de:2204")
		b.plug("0000:03:00.0", "8086:0a54")

		n := controllertest.Start(t, PCIDriverRebindConfigController(), PCIDriverRebindController(b))
		n.Configure([]byte(rebind + "10de:2204\n---\n" + rebind + "0000:04:00.0\n"))

		controllertest.Wait(n, "pci/10de:2204", func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, "no driver vfio-pci") })

		b.mu.Lock()
		b.drivers["vfio-pci"] = true
		b.mu.Unlock()
		controllertest.Set(n, "vfio_pci", runtime.LoadedKernelModuleSpec{})

		controllertest.Wait[hardware.PCIDriverRebindStatusSpec](n, "10de:2204", nil)
		controllertest.Wait(n, "pci/0000:04:00.0", func(s runtime.SettingConditionSpec) bool { return strings.Contains(s.Cause, "no such PCI device") })
		b.plug("0000:04:00.0", "1af4:1000")
		time.Sleep(retry)
		controllertest.Wait[hardware.PCIDriverRebindStatusSpec](n, "0000:04:00.0", nil)
		n.Quiet(time.Minute)

		want := map[string]string{"0000:01:00.0": "vfio-pci", "0000:02:00.0": "vfio-pci", "0000:03:00.0": "natural", "0000:04:00.0": "vfio-pci"}
		if diff := cmp.Diff(want, b.state()); diff != "" || b.rebound != 3 {
			t.Errorf("rebound %d times (-want +got):\n%s", b.rebound, diff)
		}

		n.Configure([]byte(rebind + "0000:01:00.0\n"))
		cositest.WaitGone[hardware.PCIDriverRebindStatusSpec](n.Environment, "10de:2204")
		controllertest.Wait[hardware.PCIDriverRebindStatusSpec](n, "0000:01:00.0", nil)
		n.Quiet(time.Minute)

		want["0000:02:00.0"], want["0000:04:00.0"] = "natural", "natural"
		if diff := cmp.Diff(want, b.state()); diff != "" {
			t.Errorf("after a change (-want +got):\n%s", diff)
		}

		n.Configure([]byte("machine:\n  type: worker\n"))
		cositest.WaitGone[hardware.PCIDriverRebindStatusSpec](n.Environment, "0000:01:00.0")
		n.Quiet(time.Minute)

		if got := b.state()["0000:01:00.0"]; got != "natural" {
			t.Errorf("without documents: got the driver %s", got)
		}
	})
}

// TestAbsentDevices: however many devices are not there, they are looked for once in each interval.
func TestAbsentDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bus{drivers: map[string]bool{"vfio-pci": true}}
		n := controllertest.Start(t, PCIDriverRebindConfigController(), PCIDriverRebindController(b))

		var documents []string
		for _, address := range []string{"0000:01:00.0", "0000:02:00.0", "0000:03:00.0", "0000:04:00.0"} {
			documents = append(documents, rebind+address+"\n")
		}

		n.Configure([]byte(strings.Join(documents, "---\n")))
		controllertest.Wait[runtime.SettingConditionSpec](n, "pci/0000:04:00.0", nil)
		synctest.Wait()

		b.mu.Lock()
		b.listed = 0
		b.mu.Unlock()

		const intervals = 100

		time.Sleep(intervals * retry)
		synctest.Wait()

		b.mu.Lock()
		defer b.mu.Unlock()

		if b.listed > intervals+1 {
			t.Errorf("got %d looks in %d intervals", b.listed, intervals)
		}
	})
}
