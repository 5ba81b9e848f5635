// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"fmt"

	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/mount"
)

const (
	hardened = mount.NoSuid | mount.NoDev | mount.NoExec
	// cgroupOptions: a delegated cgroup is a boundary; memory protection of a parent covers its children.
	cgroupOptions = "nsdelegate,memory_recursiveprot"
)

// Mounts returns the mounts that machined makes before anything else, in order. /dev, /proc and /sys have
// come over from the initramfs. Nothing is setuid, no device file works outside /dev, and nothing that can be
// written can be executed, but for /run, where containerd keeps the root of each container, and /dev.
//
// debugfs is not among them: nothing of the system reads it, and lockdown=integrity refuses what it has. tracefs is there for
// programs that observe a node by eBPF, which take it from the host.
func Mounts() []mount.Point {
	return []mount.Point{
		{Source: "tmpfs", Target: layout.RunDir, FSType: "tmpfs", Flags: mount.NoSuid | mount.NoDev, Data: "mode=0755"},
		{Source: "tmpfs", Target: layout.SystemDir, FSType: "tmpfs", Flags: hardened, Data: "mode=0755"},
		{Source: "tmpfs", Target: "/tmp", FSType: "tmpfs", Flags: hardened, Data: "mode=1777,size=64M"},
		// Until EPHEMERAL is mounted over it, so that a missing disk is no reason for a failing mkdir.
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

// LateMounts returns those that nothing of the system's own waits for. The kernel looks for a module when bpf is mounted,
// which takes a quarter of a second on a slow machine.
func LateMounts() []mount.Point {
	return []mount.Point{
		{Source: "bpf", Target: "/sys/fs/bpf", FSType: "bpf", Flags: hardened, Data: "mode=0700", Optional: true},
	}
}

// EtcDirs are the folders of /etc that programs write into while the machine runs: kubelet's own files and
// the network configuration that a CNI leaves. Each is bound from a folder of the same name in /system/etc;
// the root image has them as empty folders.
var EtcDirs = []string{"/etc/kubernetes", "/etc/cni", "/etc/cri"}
