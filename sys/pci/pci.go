// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package pci lists the PCI devices of the computer and gives them other drivers, by the files of /sys/bus/pci (the kernel's
// Documentation/ABI/testing/sysfs-bus-pci).
package pci

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Device is a PCI device.
type Device struct {
	// Address is such as 0000:04:00.0.
	Address string
	// ID is VENDOR:DEVICE, such as 10de:2204.
	ID string
	// Driver is "" when the device has none.
	Driver string
}

// Bus is the PCI bus below a folder of sysfs.
type Bus struct {
	// Root is /sys outside of tests.
	Root string
	// Write writes to an existing file; os.WriteFile without creating one outside of tests.
	Write func(path, text string) error
}

// Real is the bus of this computer.
func Real() Bus { return Bus{"/sys", write} }

// write writes with one call, as the kernel wants it.
func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}

	_, err = f.WriteString(text)

	return errors.Join(err, f.Close())
}

func (b Bus) path(names ...string) string {
	return filepath.Join(append([]string{b.Root, "bus/pci"}, names...)...)
}

// Devices returns the devices.
func (b Bus) Devices() ([]Device, error) {
	entries, err := os.ReadDir(b.path("devices"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a computer may have no such bus
		return nil, fmt.Errorf("list PCI devices: %w", err)
	}

	var devices []Device

	for _, e := range entries {
		d, err := b.device(e.Name())
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			continue
		}

		if err != nil {
			return nil, fmt.Errorf("PCI device %s: %w", e.Name(), err)
		}

		devices = append(devices, d)
	}

	return devices, nil
}

func (b Bus) device(address string) (Device, error) {
	vendor, err := os.ReadFile(b.path("devices", address, "vendor"))
	if err != nil {
		return Device{}, err
	}

	product, err := os.ReadFile(b.path("devices", address, "device"))
	if err != nil {
		return Device{}, err
	}

	driver, err := b.driver(address)

	return Device{address, hex(vendor) + ":" + hex(product), driver}, err
}

// hex returns the digits of 0x10de.
func hex(text []byte) string { return strings.TrimPrefix(strings.TrimSpace(string(text)), "0x") }

func (b Bus) driver(address string) (string, error) {
	link, err := os.Readlink(b.path("devices", address, "driver"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}

	return filepath.Base(link), err
}

// HasDriver reports whether the kernel has a driver: it is built in, or its module is loaded.
func (b Bus) HasDriver(name string) bool {
	_, err := os.Stat(b.path("drivers", name))

	return err == nil
}

// Rebind gives a device a driver, or with "" the one that the kernel chooses. Until the kernel starts again, no other driver takes it.
func (b Bus) Rebind(address, driver string) error {
	if err := b.rebind(address, driver); err != nil {
		return fmt.Errorf("PCI device %s: %w", address, err)
	}

	return nil
}

func (b Bus) rebind(address, driver string) error {
	current, err := b.driver(address)
	if err != nil {
		return err
	}

	override := driver
	if override == "" {
		override = "\n" // it ends the override
	}

	if err := b.Write(b.path("devices", address, "driver_override"), override); err != nil {
		return fmt.Errorf("choose the driver %q: %w", driver, err)
	}

	if current == driver && driver != "" {
		return nil
	}

	if current != "" {
		if err := b.Write(b.path("devices", address, "driver/unbind"), address); err != nil {
			return fmt.Errorf("take it from the driver %s: %w", current, err)
		}
	}

	if err := b.Write(b.path("drivers_probe"), address); err != nil {
		return fmt.Errorf("give it to the driver %q: %w", driver, err)
	}

	if got, err := b.driver(address); err != nil || driver != "" && got != driver {
		return errors.Join(err, fmt.Errorf("the driver %s does not take it: the device has %q", driver, got))
	}

	return nil
}
