// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMounts checks the properties that all mounts must have.
func TestMounts(t *testing.T) {
	spec := Spec{
		Root: "/lab/roots/a", State: "/lab/state", Ephemeral: "/lab/ephemeral", ImageCache: "/lab/cache", Console: "/lab/console",
		Cgroups: []CgroupMount{{Dir: "cpu,cpuacct", Type: "cgroup", Options: "cpu,cpuacct", Links: []string{"cpu"}}, {Dir: "unified", Type: "cgroup2"}},
	}
	points := spec.mounts()

	index := func(target, fsType string) int {
		return slices.IndexFunc(points, func(p point) bool { return p.target == target && p.fsType == fsType })
	}

	for target, fsType := range map[string]string{"/": bind, "/sys": "remount", "/proc/sys": bind, "/system/imagecache": bind} {
		i := index(target, fsType)
		if i < 0 || points[i].flags&unix.MS_RDONLY == 0 {
			t.Errorf("%s is not read-only", target)
		}
	}

	if i, j := index("/proc/sys", bind), index("/proc/sys/net", bind); j < i || points[j].flags&unix.MS_RDONLY != 0 {
		t.Error("/proc/sys/net must be writable, over /proc/sys")
	}

	// Nothing can be mounted on a read-only /sys.
	if i, j := index("/sys", "remount"), index("/sys/fs/cgroup/unified", "cgroup2"); j < 0 || i < j {
		t.Error("the cgroups must be mounted before /sys is made read-only")
	}

	if i := index("/var", bind); i < 0 || points[i].flags != unix.MS_NODEV {
		t.Error("containers must be able to run from /var, and devices must not")
	}

	// A mount on another one must come after it.
	for i, p := range points {
		for j := range points[i+1:] {
			later := points[i+1+j]
			if later.target == path.Dir(p.target) && later.fsType != "remount" && later.fsType != mkdir {
				t.Errorf("%s is mounted after %s, and hides it", later.target, p.target)
			}
		}
	}

	for _, p := range points {
		if p.fsType != bind || p.flags&unix.MS_RDONLY != 0 {
			continue
		}

		own := []string{"/proc/sys/net", "/lab/state", "/lab/ephemeral", "/lab/console"}
		if !slices.Contains(own, p.source) && !strings.HasPrefix(p.source, "/dev/") {
			t.Errorf("%s of this computer can be written to at %s", p.source, p.target)
		}
	}

	spec.Cgroups = []CgroupMount{{Type: "cgroup2"}}
	points = spec.mounts()

	if index(cgroupRoot, "tmpfs") >= 0 || index(cgroupRoot, "cgroup2") < 0 {
		t.Error("a whole cgroup v2 is not mounted at the root")
	}
}
