// SPDX-License-Identifier: Apache-2.0

//go:build linux

package pci

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree is a folder with the files of sysfs, and a kernel that reacts to writes.
type tree struct {
	t    *testing.T
	root string
	// natural is the driver that the kernel chooses for a device, by address.
	natural map[string]string
	// refuses are the devices that no chosen driver takes.
	refuses map[string]bool
}

func newTree(t *testing.T) *tree {
	k := &tree{t: t, root: t.TempDir(), natural: map[string]string{}, refuses: map[string]bool{}}

	for _, driver := range []string{"nvidia", "vfio-pci", "nvme"} {
		k.must(os.MkdirAll(k.path("drivers", driver), 0o755))
	}

	k.add("0000:01:00.0", "10de", "2204", "nvidia")
	k.add("0000:02:00.0", "10de", "2204", "nvidia")
	k.add("0000:03:00.0", "8086", "0a54", "nvme")
	k.add("0000:04:00.0", "1234", "1111", "")

	return k
}

func (k *tree) must(err error) {
	k.t.Helper()

	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *tree) path(names ...string) string {
	return filepath.Join(append([]string{k.root, "bus/pci"}, names...)...)
}

func (k *tree) add(address, vendor, product, driver string) {
	k.t.Helper()

	dir := k.path("devices", address)
	k.must(os.MkdirAll(dir, 0o755))

	for name, text := range map[string]string{"vendor": "0x" + vendor + "\n", "device": "0x" + product + "\n", "driver_override": "(null)\n"} {
		k.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}

	k.natural[address] = driver
	k.bind(address, driver)
}

func (k *tree) bind(address, driver string) {
	if driver != "" {
		k.must(os.Symlink("../../drivers/"+driver, k.path("devices", address, "driver")))
	}
}

// write does what the kernel does.
func (k *tree) write(path, text string) error {
	rel, err := filepath.Rel(k.root, path)
	k.must(err)

	switch parts := strings.Split(rel, "/"); {
	case parts[len(parts)-1] == "driver_override":
		return os.WriteFile(path, []byte(text), 0o644)
	case strings.HasSuffix(rel, "driver/unbind"):
		if parts[3] != text {
			return syscall.ENODEV
		}

		return os.Remove(k.path("devices", text, "driver"))
	case rel == "bus/pci/drivers_probe":
		if _, err := os.Readlink(k.path("devices", text, "driver")); err == nil {
			return nil
		}

		driver, err := os.ReadFile(k.path("devices", text, "driver_override"))
		k.must(err)

		switch chosen := strings.TrimSpace(string(driver)); {
		case chosen == "" || chosen == "(null)":
			k.bind(text, k.natural[text])
		case !k.refuses[text]:
			k.bind(text, chosen)
		}

		return nil
	default:
		return syscall.EINVAL
	}
}

func (k *tree) drivers(b Bus) map[string]string {
	devices, err := b.Devices()
	k.must(err)

	out := map[string]string{}
	for _, d := range devices {
		out[d.Address] = d.Driver
	}

	return out
}

func TestRebind(t *testing.T) {
	k := newTree(t)
	b := Bus{k.root, k.write}

	k.must(b.Rebind("0000:01:00.0", "vfio-pci"))
	k.must(b.Rebind("0000:04:00.0", "vfio-pci"))
	k.must(b.Rebind("0000:03:00.0", "nvme"))

	want := map[string]string{"0000:01:00.0": "vfio-pci", "0000:02:00.0": "nvidia", "0000:03:00.0": "nvme", "0000:04:00.0": "vfio-pci"}
	if diff := cmp.Diff(want, k.drivers(b)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	for address := range want {
		k.must(b.Rebind(address, ""))
	}

	if diff := cmp.Diff(k.natural, k.drivers(b)); diff != "" {
		t.Errorf("without an override (-want +got):\n%s", diff)
	}

	k.refuses["0000:02:00.0"] = true

	if err := b.Rebind("0000:02:00.0", "vfio-pci"); err == nil || !strings.Contains(err.Error(), "does not take it") {
		t.Errorf("a driver that refuses: got %v", err)
	}

	if err := b.Rebind("0000:09:00.0", "vfio-pci"); err == nil {
		t.Error("no such device: got no error")
	}
}

func TestDevices(t *testing.T) {
	k := newTree(t)
	b := Bus{k.root, k.write}

	got, err := b.Devices()
	k.must(err)

	if diff := cmp.Diff(Device{"0000:03:00.0", "8086:0a54", "nvme"}, got[2]); diff != "" || len(got) != 4 {
		t.Errorf("%d devices (-want +got):\n%s", len(got), diff)
	}

	if !b.HasDriver("vfio-pci") || b.HasDriver("none") {
		t.Error("the drivers are not those of the tree")
	}

	none, err := Bus{t.TempDir(), k.write}.Devices()
	if err != nil || len(none) != 0 {
		t.Errorf("no bus: got %v, %v", none, err)
	}
}

// TestRealDevices reads the devices of this computer, if it has any.
func TestRealDevices(t *testing.T) {
	devices, err := Real().Devices()
	if err != nil {
		t.Fatal(err)
	}

	for _, d := range devices {
		if len(d.ID) != len("10de:2204") || len(d.Address) < len("0000:04:00.0") {
			t.Errorf("got %+v", d)
		}
	}
}
