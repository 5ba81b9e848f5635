// SPDX-License-Identifier: Apache-2.0

// Package nic reads what a network card is and how it is connected: driver, address on its bus, speed. It uses ethtool (netlink and
// the older ioctl) and sysfs. What the kernel does not know, as of virtual links, is zero.
package nic

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/mdlayher/ethtool"
	"golang.org/x/sys/unix"
)

// Info of one link.
type Info struct {
	// BusPath is the device's name on its bus, such as 0000:00:03.0.
	BusPath string
	// PCIID is VENDOR:PRODUCT in upper-case hexadecimal.
	PCIID, VendorID, ProductID             string
	Driver, DriverVersion, FirmwareVersion string

	// LinkState is whether the card detects its peer.
	LinkState bool
	SpeedMbit int
	// Port and Duplex are the kernel's numbers, 255 unknown.
	Port, Duplex uint8
}

const unknown = 255

// Prober reads the information about links.
type Prober struct {
	sysfs  string
	client *ethtool.Client
	socket int
}

// NewProber opens the sockets to the kernel. The sysfs is usually /sys. Without ethtool in the kernel the rest still works.
func NewProber(sysfs string) *Prober {
	p := &Prober{sysfs: sysfs, socket: -1}

	if c, err := ethtool.New(); err == nil {
		p.client = c
	}

	if fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err == nil {
		p.socket = fd
	}

	return p
}

// Close releases the sockets.
func (p *Prober) Close() error {
	var errs []error

	if p.client != nil {
		errs = append(errs, p.client.Close())
	}

	if p.socket >= 0 {
		errs = append(errs, unix.Close(p.socket))
	}

	return errors.Join(errs...)
}

// Probe returns what the kernel knows of a link.
func (p *Prober) Probe(name string, index uint32) Info {
	info := Info{Port: unknown, Duplex: unknown}

	p.readDriver(&info, name)
	p.readSysfs(&info, name)
	p.readEthtool(&info, name, index)

	return info
}

func (p *Prober) readDriver(info *Info, name string) {
	if p.socket < 0 {
		return
	}

	d, err := unix.IoctlGetEthtoolDrvinfo(p.socket, name)
	if err != nil {
		return
	}

	info.Driver = unix.ByteSliceToString(d.Driver[:])
	info.DriverVersion = known(unix.ByteSliceToString(d.Version[:]))
	info.FirmwareVersion = known(unix.ByteSliceToString(d.Fw_version[:]))
	info.BusPath = known(unix.ByteSliceToString(d.Bus_info[:]))
}

func known(s string) string {
	if s == "N/A" {
		return ""
	}

	return strings.TrimSpace(s)
}

// readSysfs finds the nearest PCI device at or above the link's device: a virtio card is a child of one.
func (p *Prober) readSysfs(info *Info, name string) {
	device, err := filepath.EvalSymlinks(filepath.Join(p.sysfs, "class/net", name, "device"))
	if err != nil {
		return
	}

	if driver, err := os.Readlink(filepath.Join(device, "driver")); err == nil && info.Driver == "" {
		info.Driver = filepath.Base(driver)
	}

	for dir := device; len(dir) > len(p.sysfs); dir = filepath.Dir(dir) {
		if bus, err := os.Readlink(filepath.Join(dir, "subsystem")); err != nil || filepath.Base(bus) != "pci" {
			continue
		}

		vendor, product := readID(dir, "vendor"), readID(dir, "device")
		if vendor == "" || product == "" {
			return
		}

		info.VendorID, info.ProductID = "0x"+vendor, "0x"+product
		info.PCIID = strings.ToUpper(vendor + ":" + product)

		if info.BusPath == "" {
			info.BusPath = filepath.Base(dir)
		}

		return
	}
}

func readID(dir, file string) string {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return ""
	}

	return strings.TrimPrefix(strings.TrimSpace(string(text)), "0x")
}

func (p *Prober) readEthtool(info *Info, name string, index uint32) {
	if p.client == nil {
		return
	}

	link := ethtool.Interface{Index: int(index), Name: name}

	if s, err := p.client.LinkState(link); err == nil {
		info.LinkState = s.Link
	}

	if i, err := p.client.LinkInfo(link); err == nil {
		info.Port = uint8(i.Port)
	}

	if m, err := p.client.LinkMode(link); err == nil {
		info.Duplex = uint8(m.Duplex)

		if m.SpeedMegabits > 0 && m.SpeedMegabits != 1<<32-1 {
			info.SpeedMbit = m.SpeedMegabits
		}
	}
}
