// SPDX-License-Identifier: Apache-2.0

package reset

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/layout"
)

var labels = []string{
	layout.PartitionEFI, layout.PartitionBIOS, layout.PartitionBoot, layout.PartitionMeta, layout.PartitionState, layout.PartitionEphemeral,
	layout.PartitionImageCache,
}

// TestSteps: what holds secrets goes first, what the machine boots from late, and the record last.
func TestSteps(t *testing.T) {
	user := Disk{Path: "/dev/vdb", Serial: "one", Size: 1 << 30}

	for _, tt := range []struct {
		name   string
		record Record
		want   string
	}{
		{"everything", Record{Partitions: labels, SystemDisk: true, Disks: []Disk{user}},
			"wipe STATE; wipe EPHEMERAL; delete META keys [0x81 0x09 0x80]; wipe /dev/vdb; wipe IMAGECACHE; wipe BIOS; wipe BOOT; wipe EFI; wipe META; wipe the partition table of the system disk"},
		{"back to maintenance", Record{Partitions: []string{"EPHEMERAL", "STATE", "STATE"}},
			"wipe STATE; wipe EPHEMERAL; delete META keys [0x81 0x09 0x80]; delete META keys [0x84]"},
		{"EPHEMERAL alone", Record{Partitions: []string{"EPHEMERAL"}}, "wipe EPHEMERAL; delete META keys [0x84]"},
		{"META and STATE", Record{Partitions: []string{"META", "STATE"}}, "wipe STATE; delete META keys [0x81 0x09 0x80]; wipe META"},
		{"a disk of users", Record{Disks: []Disk{user}}, "wipe /dev/vdb; delete META keys [0x84]"},
	} {
		var got []string
		for _, s := range tt.record.Steps() {
			got = append(got, describe(s))
		}

		if got := strings.Join(got, "; "); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestChoose(t *testing.T) {
	disk := func(path, unfit string, names ...string) SeenDisk {
		return SeenDisk{Disk: Disk{Path: path, Serial: path, Size: 1 << 30}, Unfit: unfit, Names: names}
	}
	whole := Seen{Partitions: labels, SystemDisk: "/dev/vda", Disks: []SeenDisk{
		disk("/dev/vda", ""), disk("/dev/vdb", "", "/dev/disk/by-id/virtio-b"), disk("/dev/sr0", "it is read-only"),
	}}
	container := Seen{Partitions: []string{"EPHEMERAL", "META", "STATE"}, Folders: true}

	for _, tt := range []struct {
		name    string
		request Request
		seen    Seen
		want    string // what is wiped, and more
		kind    error
		err     string
	}{
		{name: "everything", seen: whole, want: "the system disk; forgets; loses etcd"},
		{name: "the system disk, then reboot", request: Request{Mode: SystemDisk, Reboot: true}, seen: whole, want: "the system disk; forgets; loses etcd; reboots"},
		{name: "everything of a container", seen: container, want: "EPHEMERAL, META, STATE; forgets; loses etcd"},
		{name: "partitions", request: Request{Partitions: []string{"STATE", "EPHEMERAL"}}, seen: whole, want: "EPHEMERAL, STATE; forgets; loses etcd"},
		{name: "EPHEMERAL", request: Request{Partitions: []string{"EPHEMERAL", "EPHEMERAL"}}, seen: container, want: "EPHEMERAL; loses etcd"},
		{name: "META", request: Request{Partitions: []string{"META"}}, seen: whole, want: "META"},
		{name: "a disk of users", request: Request{Mode: UserDisks, Disks: []string{"/dev/vdb", "vdb", "/dev/disk/by-id/virtio-b"}}, seen: whole, want: "/dev/vdb"},
		{name: "both", request: Request{Disks: []string{"vdb"}}, seen: whole, want: "the system disk, /dev/vdb; forgets; loses etcd"},

		{name: "an unknown label", request: Request{Partitions: []string{"STATE", "DATA"}}, seen: container, kind: ErrMissing, err: `reset: there is no partition "DATA" to wipe: there are EPHEMERAL, META, STATE`},
		{name: "no system disk", seen: Seen{}, kind: ErrUnfit, err: "reset: no system disk was found, so there is nothing to wipe on it; see: talosctl get systemdisks"},
		{name: "an unknown disk", request: Request{Disks: []string{"/dev/vdz"}}, seen: whole, kind: ErrMissing, err: "reset: there is no disk /dev/vdz; see: talosctl get disks"},
		{name: "the system disk as one of users", request: Request{Mode: UserDisks, Disks: []string{"vda"}}, seen: whole, kind: ErrInvalid, err: "reset: /dev/vda is the system disk, which the modes all and system-disk wipe"},
		{name: "a read-only disk", request: Request{Disks: []string{"sr0"}}, seen: whole, kind: ErrUnfit, err: "reset: disk /dev/sr0: it is read-only"},
		{name: "a disk of a container", request: Request{Disks: []string{"sda"}}, seen: container, kind: ErrUnfit, err: "reset: disk sda: a container has no disks of its own"},
		{name: "labels of users' disks", request: Request{Mode: UserDisks, Partitions: []string{"STATE"}}, seen: whole, kind: ErrInvalid, err: "leave out --system-labels-to-wipe"},
		{name: "no disks of users", request: Request{Mode: UserDisks}, seen: whole, kind: ErrInvalid, err: "name one with --user-disks-to-wipe"},
		{name: "disks of the system disk", request: Request{Mode: SystemDisk, Disks: []string{"vdb"}}, seen: whole, kind: ErrInvalid, err: "leave out --user-disks-to-wipe"},
		{name: "an unknown mode", request: Request{Mode: 3}, seen: whole, kind: ErrInvalid, err: "reset: wipe mode 3 is unknown to this version"},
	} {
		r, err := Choose(tt.request, tt.seen)
		if tt.err != "" {
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %v, want %s", tt.name, err, tt.err)
			}

			continue
		}

		got := r.String()
		for _, more := range []struct {
			is   bool
			text string
		}{{r.Forgets(), "forgets"}, {r.LosesEtcd(), "loses etcd"}, {r.Reboot, "reboots"}} {
			if more.is {
				got += "; " + more.text
			}
		}

		if err != nil || got != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.name, got, err, tt.want)
		}
	}
}

// TestSameDisk: a disk is found again by what it says about itself, and otherwise by its place.
func TestSameDisk(t *testing.T) {
	serial := Disk{Path: "/dev/sdb", Serial: "one", BusPath: "/pci/1", Size: 10}
	silent := Disk{Path: "/dev/vdb", BusPath: "/pci/2", Size: 10}

	for _, tt := range []struct {
		name          string
		wanted, found Disk
		want          bool
	}{
		{"the same", serial, serial, true},
		{"at another place", serial, Disk{Path: "/dev/sdc", Serial: "one", BusPath: "/pci/7", Size: 10}, true},
		{"another serial number at its place", serial, Disk{Path: "/dev/sdb", Serial: "two", BusPath: "/pci/1", Size: 10}, false},
		{"another size", serial, Disk{Path: "/dev/sdb", Serial: "one", BusPath: "/pci/1", Size: 11}, false},
		{"a silent disk", silent, silent, true},
		{"a silent disk at another place", silent, Disk{Path: "/dev/vdb", BusPath: "/pci/3", Size: 10}, false},
		{"a silent disk with another name", silent, Disk{Path: "/dev/vdc", BusPath: "/pci/2", Size: 10}, false},
		{"a disk with a name where one was silent", silent, Disk{Path: "/dev/vdb", Serial: "x", BusPath: "/pci/2", Size: 10}, false},
	} {
		if got := tt.wanted.Is(tt.found); got != tt.want {
			t.Errorf("%s: got %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestEncode(t *testing.T) {
	want := Record{By: "reset (os:admin)", Partitions: labels, SystemDisk: true, Disks: []Disk{{Path: "/dev/vdb", WWID: "w", Size: 1}}, Reboot: true}

	text, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}

	got, there, err := Decode(text)
	if diff := cmp.Diff(want, got); err != nil || !there || diff != "" {
		t.Errorf("got %t, %v (-want +got):\n%s", there, err, diff)
	}

	if _, there, err := Decode(nil); there || err != nil {
		t.Errorf("no record: got %t, %v", there, err)
	}

	many := Record{}
	for i := range maxNames {
		many.Disks = append(many.Disks, Disk{Path: fmt.Sprintf("/dev/disk%d", i), Serial: strings.Repeat("x", 256), Size: 1})
	}

	for name, r := range map[string]Record{"nothing": {}, "a long one": many, "no META": {SystemDisk: true, Partitions: []string{"STATE"}}} {
		if _, err := r.Encode(); err == nil {
			t.Errorf("%s: it was encoded", name)
		}
	}

	for name, text := range map[string]string{
		"no JSON": "STATE", "another format": `{"format":2,"partitions":["STATE"]}`, "nothing": `{"format":1}`, "no label": `{"format":1,"partitions":[""]}`,
		"no size": `{"format":1,"disks":[{"path":"/dev/vdb"}]}`, "too long": strings.Repeat(" ", maxRecord+1),
	} {
		if _, there, err := Decode([]byte(text)); err == nil || there {
			t.Errorf("%s: it was decoded", name)
		}
	}
}

// FuzzDecode: what is decoded can be encoded, is the same then, and has steps that remove the record.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"format":1,"partitions":["STATE","EPHEMERAL"],"reboot":true}`))
	f.Add([]byte(`{"format":1,"partitions":["META"],"systemDisk":true,"disks":[{"path":"/dev/vdb","size":1}]}`))

	f.Fuzz(func(t *testing.T, b []byte) {
		r, there, err := Decode(b)
		if err != nil || !there {
			return
		}

		text, err := r.Encode()
		if err != nil {
			return // it is longer with escapes
		}

		again, _, err := Decode(text)
		if err != nil {
			t.Fatal(err)
		}

		if second, err := again.Encode(); err != nil || string(second) != string(text) {
			t.Errorf("got %s, %v, want %s", second, err, text)
		}

		removes := 0

		for _, s := range r.Steps() {
			if _, table := s.(wipeTable); last(s) && !table {
				if p, boot := s.(wipePartition); !boot || p.label == "" {
					removes++
				}
			}
		}

		if removes != 1 {
			t.Errorf("%d steps remove the record of %+v", removes, r)
		}
	})
}
