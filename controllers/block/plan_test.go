// SPDX-License-Identifier: Apache-2.0

package block

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/resources/block"
)

const gib = 1 << 30

// disk returns a system disk with META and other partitions, with sectors of 512 bytes.
func testDisk(size uint64, parts ...block.DiscoveredVolumeSpec) []block.DiscoveredVolumeSpec {
	out := []block.DiscoveredVolumeSpec{{
		Type: block.DeviceTypeDisk, DevPath: "/dev/vda", Size: size, SectorSize: 512, Name: "gpt",
	}}
	offset := uint64(mib)

	for i, p := range append([]block.DiscoveredVolumeSpec{part("META", mib, "")}, parts...) {
		p.Parent, p.ParentDevPath, p.SectorSize = "vda", "/dev/vda", 512
		p.PartitionIndex = uint(i + 1)
		p.DevPath = "/dev/vda" + string(rune('1'+i))
		p.Offset = offset
		offset += p.Size
		out = append(out, p)
	}

	return out
}

func part(label string, size uint64, contents string) block.DiscoveredVolumeSpec {
	return block.DiscoveredVolumeSpec{Type: block.DeviceTypePartition, PartitionLabel: label, Size: size, Name: contents}
}

func TestPlan(t *testing.T) {
	const (
		disk  = 10 * gib
		state = 100 * mib
	)

	// The free space behind META and STATE; the backup table uses the last 33 sectors.
	rest := func(size uint64) uint64 { return size - 2*mib - state - 33*512 }

	type statuses map[string]string // phase, or phase and part of the error

	for _, test := range []struct {
		name    string
		found   []block.DiscoveredVolumeSpec
		none    bool // no system disk
		inUse   []string
		closing bool
		want    statuses
		actions []string
	}{
		{
			name: "no disk yet", none: true,
			want: statuses{"META": "waiting: no disk", "STATE": "waiting: no disk", "EPHEMERAL": "waiting: no disk", "IMAGECACHE": "waiting: no disk"},
		},
		{
			name: "two disks with META", none: true,
			found: append(testDisk(disk), block.DiscoveredVolumeSpec{PartitionLabel: "META", Size: mib, Parent: "vdb"}),
			want: statuses{
				"META": "failed: vda and vdb", "STATE": "failed: remove or wipe", "EPHEMERAL": "failed: vda and vdb", "IMAGECACHE": "failed: vda and vdb",
			},
		},
		{
			name: "fresh disk", found: testDisk(disk),
			want:    statuses{"META": "ready", "STATE": "waiting", "EPHEMERAL": "waiting: waiting for the partition of STATE", "IMAGECACHE": "missing"},
			actions: []string{"create STATE"},
		},
		{
			name: "cut off after the partition of STATE", found: testDisk(disk, part("STATE", state, "")),
			want:    statuses{"META": "ready", "STATE": "provisioned", "EPHEMERAL": "waiting", "IMAGECACHE": "missing"},
			actions: []string{"format STATE /dev/vda2", "create EPHEMERAL"},
		},
		{
			name: "cut off after the partition of EPHEMERAL", found: testDisk(disk, part("STATE", state, "xfs"), part("EPHEMERAL", rest(disk), "")),
			want:    statuses{"META": "ready", "STATE": "ready", "EPHEMERAL": "provisioned", "IMAGECACHE": "missing"},
			actions: []string{"format EPHEMERAL /dev/vda3"},
		},
		{
			name:  "everything there",
			found: testDisk(disk, part("IMAGECACHE", gib, "ext4"), part("STATE", state, "xfs"), part("EPHEMERAL", rest(disk)-gib, "xfs")),
			want:  statuses{"META": "ready", "STATE": "ready", "EPHEMERAL": "ready", "IMAGECACHE": "ready"},
		},
		{
			name: "the disk has grown", found: testDisk(2*disk, part("STATE", state, "xfs"), part("EPHEMERAL", rest(disk), "xfs")),
			want:    statuses{"META": "ready", "STATE": "ready", "EPHEMERAL": "located", "IMAGECACHE": "missing"},
			actions: []string{"grow EPHEMERAL"},
		},
		{
			name: "the disk has grown under a mounted volume", found: testDisk(2*disk, part("STATE", state, "xfs"), part("EPHEMERAL", rest(disk), "xfs")),
			inUse: []string{"EPHEMERAL"},
			want:  statuses{"META": "ready", "STATE": "ready", "EPHEMERAL": "ready", "IMAGECACHE": "missing"},
		},
		{
			name: "too small for EPHEMERAL", found: testDisk(2*gib, part("STATE", state, "xfs")),
			want: statuses{"META": "ready", "STATE": "ready", "EPHEMERAL": `failed: disk /dev/vda: partition "EPHEMERAL" of 2048 MiB: not enough free space`, "IMAGECACHE": "missing"},
		},
		{
			name: "too small for anything", found: testDisk(50 * mib),
			want: statuses{"META": "ready", "STATE": "failed: not enough free space", "EPHEMERAL": "waiting: waiting for", "IMAGECACHE": "missing"},
		},
		{
			name:  "foreign contents",
			found: testDisk(disk, part("IMAGECACHE", gib, ""), part("STATE", state, "luks"), part("EPHEMERAL", rest(disk)-gib, "xfs")),
			want:  statuses{"META": "ready", "STATE": "failed: /dev/vda3 holds luks, expected xfs", "EPHEMERAL": "ready", "IMAGECACHE": "failed: no known file system"},
		},
		{
			name: "a label twice", found: testDisk(disk, part("STATE", state, "xfs"), part("STATE", state, "xfs"), part("EPHEMERAL", rest(disk)-state, "xfs")),
			want: statuses{"META": "ready", "STATE": "failed: /dev/vda2 and /dev/vda3 both", "EPHEMERAL": "ready", "IMAGECACHE": "missing"},
		},
		{
			name: "a partition of the label on another disk", found: append(
				testDisk(disk), block.DiscoveredVolumeSpec{PartitionLabel: "STATE", Size: state, Parent: "vdb", DevPath: "/dev/vdb1", Name: "xfs"},
			),
			want:    statuses{"META": "ready", "STATE": "waiting", "EPHEMERAL": "waiting: waiting for", "IMAGECACHE": "missing"},
			actions: []string{"create STATE"},
		},
		{
			name: "the machine goes down", found: testDisk(disk, part("STATE", state, "xfs")), closing: true, inUse: []string{"STATE"},
			want: statuses{"META": "closed", "STATE": "ready", "EPHEMERAL": "closed", "IMAGECACHE": "closed"},
		},
		{
			name: "the disk is missing",
			want: statuses{"META": "failed: missing", "STATE": "failed: missing", "EPHEMERAL": "failed: missing", "IMAGECACHE": "failed: missing"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := view{configs: systemVolumes(), found: test.found, closing: test.closing, inUse: map[string]bool{}}
			for _, id := range test.inUse {
				v.inUse[id] = true
			}

			if test.none {
				v.system, v.systemErr = systemDisk(diskSearch{found: test.found})
			} else {
				v.system = &block.SystemDiskSpec{DiskID: "vda", DevPath: "/dev/vda"}
			}

			got, actions := plan(v)

			for id, want := range test.want {
				phase, message, _ := strings.Cut(want, ": ")
				if s := got[id]; s.Phase.String() != phase || !strings.Contains(s.ErrorMessage, message) || message == "" && s.ErrorMessage != "" {
					t.Errorf("%s: got %s, %q, want %s", id, s.Phase, s.ErrorMessage, want)
				}
			}

			if len(got) != len(test.want) {
				t.Errorf("got %d statuses, want %d", len(got), len(test.want))
			}

			var names []string
			for _, a := range actions {
				names = append(names, strings.TrimSpace([]string{"create", "grow", "format"}[a.step]+" "+a.volume+" "+a.device))
			}

			if diff := cmp.Diff(test.actions, names); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}
