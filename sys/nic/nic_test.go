// SPDX-License-Identifier: Apache-2.0

package nic

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A virtio card: the link's device is virtio1, a child of the PCI device.
func TestSysfs(t *testing.T) {
	sysfs := t.TempDir()
	pci := filepath.Join(sysfs, "devices/pci0000:00/0000:00:03.0")
	virtio := filepath.Join(pci, "virtio1")

	for _, dir := range []string{virtio, filepath.Join(sysfs, "class/net/eth0"), filepath.Join(sysfs, "bus/pci"), filepath.Join(sysfs, "bus/virtio/drivers/virtio_net")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for link, target := range map[string]string{
		filepath.Join(sysfs, "class/net/eth0/device"): virtio,
		filepath.Join(virtio, "driver"):               filepath.Join(sysfs, "bus/virtio/drivers/virtio_net"),
		filepath.Join(virtio, "subsystem"):            filepath.Join(sysfs, "bus/virtio"),
		filepath.Join(pci, "subsystem"):               filepath.Join(sysfs, "bus/pci"),
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
	}

	for file, text := range map[string]string{"vendor": "0x1af4\n", "device": "0x1000\n"} {
		if err := os.WriteFile(filepath.Join(pci, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	p := &Prober{sysfs: sysfs, socket: -1}
	want := Info{BusPath: "0000:00:03.0", PCIID: "1AF4:1000", VendorID: "0x1af4", ProductID: "0x1000", Driver: "virtio_net", Port: unknown, Duplex: unknown}

	if diff := cmp.Diff(want, p.Probe("eth0", 2)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(Info{Port: unknown, Duplex: unknown}, p.Probe("absent", 3)); diff != "" {
		t.Errorf("no such link (-want +got):\n%s", diff)
	}
}

// The loopback always exists and is connected, if the kernel has ethtool.
func TestLoopback(t *testing.T) {
	p := NewProber("/sys")
	defer p.Close()

	info := p.Probe("lo", 1)
	if p.client == nil {
		t.Skip("this kernel has no ethtool by netlink")
	}

	if info.BusPath != "" || info.PCIID != "" {
		t.Errorf("got %+v, want no place on a bus", info)
	}
}
