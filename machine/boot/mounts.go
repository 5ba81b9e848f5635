// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"fmt"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/mount"
)

const (
	hardened = mount.NoSuid | mount.NoDev | mount.NoExec
	// cgroupOptions make a delegated cgroup a boundary, and extend the memory protection of a parent to its children.
	cgroupOptions = "nsdelegate,memory_recursiveprot"
)

// Mounts returns the mounts that machined makes first, in order. /dev, /proc and /sys are moved from the initramfs. Nothing is
// setuid, no device file works outside /dev, and no writable file system is executable except /dev and /run, where containerd
// keeps the root of each container. Once containerd starts, /opt is executable and writable too (mount.Writable).
//
// debugfs is not mounted: no part of the system reads it, and lockdown=integrity refuses access. tracefs is for programs in pods
// that observe the node by eBPF.
func Mounts() []mount.Point {
	return []mount.Point{
		{Source: "tmpfs", Target: layout.RunDir, FSType: "tmpfs", Flags: mount.NoSuid | mount.NoDev, Data: "mode=0755"},
		{Source: "tmpfs", Target: layout.SystemDir, FSType: "tmpfs", Flags: hardened, Data: "mode=0755"},
		{Source: "tmpfs", Target: "/tmp", FSType: "tmpfs", Flags: hardened, Data: "mode=1777,size=64M"},
		// Until EPHEMERAL is mounted over it, so that mkdir works without a disk.
		{Source: "tmpfs", Target: layout.VarDir, FSType: "tmpfs", Flags: hardened, Data: "mode=0755,size=16M"},

		{Source: "tmpfs", Target: "/dev/shm", FSType: "tmpfs", Flags: hardened, Data: "mode=1777"},
		{Source: "devpts", Target: "/dev/pts", FSType: "devpts", Flags: mount.NoSuid | mount.NoExec, Data: fmt.Sprintf("mode=0620,ptmxmode=0666,gid=%d", layout.GroupTTY)},
		{Source: "mqueue", Target: "/dev/mqueue", FSType: "mqueue", Flags: hardened, Optional: true},
		{Source: "hugetlbfs", Target: "/dev/hugepages", FSType: "hugetlbfs", Flags: hardened, Optional: true},

		{Source: "cgroup2", Target: "/sys/fs/cgroup", FSType: "cgroup2", Flags: hardened, Data: cgroupOptions},
		{Source: "pstore", Target: "/sys/fs/pstore", FSType: "pstore", Flags: hardened, Optional: true},
		{Source: "securityfs", Target: "/sys/kernel/security", FSType: "securityfs", Flags: hardened, Optional: true},
		{Source: "tracefs", Target: "/sys/kernel/tracing", FSType: "tracefs", Flags: hardened, Optional: true},
		{Source: "configfs", Target: "/sys/kernel/config", FSType: "configfs", Flags: hardened, Optional: true},
		{Source: "efivarfs", Target: "/sys/firmware/efi/efivars", FSType: "efivarfs", Flags: hardened, Optional: true},
	}
}

// LateMounts returns the mounts that the system itself does not need. The kernel looks for a module when bpf is mounted, which
// takes a quarter of a second on a slow machine.
func LateMounts() []mount.Point {
	return []mount.Point{
		{Source: "bpf", Target: "/sys/fs/bpf", FSType: "bpf", Flags: hardened, Data: "mode=0700", Optional: true},
	}
}

// EtcDirs are the folders of /etc that programs write to: the kubelet's files, and the network configuration that a CNI
// installs. Each is bound from the folder of the same name in /system/etc; in the root image it is empty.
var EtcDirs = []string{"/etc/kubernetes", "/etc/cni", "/etc/cri"}
