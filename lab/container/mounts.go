// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"fmt"
	"path"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/layout"
)

// point is a mount, folder or link of a machine.
type point struct {
	// source of a bind is a path outside the new root.
	source, target string
	// fsType is that of the kernel, or "bind", "mkdir", "link".
	fsType string
	flags  uintptr
	data   string
	// create creates the target file of a bind.
	create bool
	// optional points are left out when their source or target does not exist.
	optional bool
}

const (
	bind  = "bind"
	mkdir = "mkdir"
	link  = "link"

	hardened = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
)

// devices are those of this computer that a machine sees. Disks and the kernel's log are not among them.
var devices = []struct {
	path     string
	optional bool
}{
	{"/dev/null", false}, {"/dev/zero", false}, {"/dev/full", false}, {"/dev/random", false}, {"/dev/urandom", false}, {"/dev/tty", false},
	{"/dev/net/tun", true}, {"/dev/fuse", true},
}

// Masked files and folders of /proc and /sys show or control the whole computer.
var (
	maskedFiles = []string{
		"/proc/sysrq-trigger", "/proc/kcore", "/proc/keys", "/proc/kmsg", "/proc/latency_stats", "/proc/sched_debug",
		"/proc/timer_list", "/proc/timer_stats", "/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags",
	}
	maskedFolders = []string{"/proc/acpi", "/proc/asound", "/proc/scsi", "/sys/devices/virtual/powercap", "/sys/firmware"}
	readOnly      = []string{"/proc/bus", "/proc/dynamic_debug", "/proc/fs", "/proc/irq", "/proc/mtrr"}
)

// mounts returns the mounts of a machine before its first process starts, in order. The targets are paths in the
// machine. The flags are those of the system's own mounts in a virtual machine (machine/boot, Mounts).
func (s *Spec) mounts() []point {
	points := []point{
		{source: s.Root, target: "/", fsType: bind, flags: unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV},
		{source: "proc", target: "/proc", fsType: "proc", flags: hardened},
		{source: "sysfs", target: "/sys", fsType: "sysfs", flags: hardened},
		{source: "tmpfs", target: layout.RunDir, fsType: "tmpfs", flags: unix.MS_NOSUID | unix.MS_NODEV, data: "mode=0755"},
		{source: "tmpfs", target: layout.SystemDir, fsType: "tmpfs", flags: hardened, data: "mode=0755"},
		{source: "tmpfs", target: "/tmp", fsType: "tmpfs", flags: hardened, data: "mode=1777,size=64M"},
		{target: layout.StateDir, fsType: mkdir},
		{source: s.State, target: layout.StateDir, fsType: bind, flags: hardened},
		// Containers run from here where there are no overlays, so setuid programs must work. Device files that pods
		// create must not, as in a virtual machine.
		{source: s.Ephemeral, target: layout.VarDir, fsType: bind, flags: unix.MS_NODEV},
	}

	if s.ImageCache != "" {
		points = append(points,
			point{target: layout.ImageCacheDir, fsType: mkdir},
			point{source: s.ImageCache, target: layout.ImageCacheDir, fsType: bind, flags: unix.MS_RDONLY | hardened})
	}

	points = append(points, s.dev()...)
	points = append(points, s.cgroups()...)

	return append(points, shield()...)
}

func (s *Spec) dev() []point {
	points := []point{
		{source: "tmpfs", target: "/dev", fsType: "tmpfs", flags: unix.MS_NOSUID | unix.MS_NOEXEC, data: "mode=0755,size=64k"},
		{target: "/dev/pts", fsType: mkdir},
		{source: "devpts", target: "/dev/pts", fsType: "devpts", flags: unix.MS_NOSUID | unix.MS_NOEXEC, data: fmt.Sprintf("newinstance,mode=0620,ptmxmode=0666,gid=%d", layout.GroupTTY)},
		{target: "/dev/shm", fsType: mkdir},
		{source: "tmpfs", target: "/dev/shm", fsType: "tmpfs", flags: hardened, data: "mode=1777"},
		{target: "/dev/mqueue", fsType: mkdir},
		{source: "mqueue", target: "/dev/mqueue", fsType: "mqueue", flags: hardened, optional: true},
		{target: "/dev/net", fsType: mkdir},
		{source: s.Console, target: "/dev/console", fsType: bind, create: true},
		{source: "pts/ptmx", target: "/dev/ptmx", fsType: link},
		{source: "/proc/self/fd", target: "/dev/fd", fsType: link},
		{source: "/proc/self/fd/0", target: "/dev/stdin", fsType: link},
		{source: "/proc/self/fd/1", target: "/dev/stdout", fsType: link},
		{source: "/proc/self/fd/2", target: "/dev/stderr", fsType: link},
	}

	for _, d := range devices {
		points = append(points, point{source: d.path, target: d.path, fsType: bind, create: true, optional: d.optional})
	}

	return points
}

// cgroupRoot is the folder of the cgroup file systems, here and in the machine.
const cgroupRoot = "/sys/fs/cgroup"

func (s *Spec) cgroups() []point {
	var points []point

	if len(s.Cgroups) != 1 || s.Cgroups[0].Dir != "" {
		points = append(points, point{source: "tmpfs", target: cgroupRoot, fsType: "tmpfs", flags: hardened, data: "mode=0755,size=64k"})
	}

	for _, c := range s.Cgroups {
		target := path.Join(cgroupRoot, c.Dir)
		if c.Dir != "" {
			points = append(points, point{target: target, fsType: mkdir})
		}

		points = append(points, point{source: c.Type, target: target, fsType: c.Type, flags: hardened, data: c.Options})

		for _, name := range c.Links {
			points = append(points, point{source: c.Dir, target: path.Join(cgroupRoot, name), fsType: link})
		}
	}

	return points
}

// shield returns mounts that hide or protect files of the whole computer. The file systems themselves stay writable,
// since the kernel refuses pods' own mounts of read-only ones.
func shield() []point {
	points := []point{
		{source: "/proc/sys", target: "/proc/sys", fsType: bind, flags: hardened | unix.MS_RDONLY},
		{source: "/proc/sys/net", target: "/proc/sys/net", fsType: bind, flags: hardened},
		{source: "/sys", target: "/sys", fsType: "remount", flags: hardened | unix.MS_RDONLY},
	}

	for _, path := range readOnly {
		points = append(points, point{source: path, target: path, fsType: bind, flags: hardened | unix.MS_RDONLY, optional: true})
	}

	for _, path := range maskedFiles {
		points = append(points, point{source: "/dev/null", target: path, fsType: bind, optional: true})
	}

	for _, path := range maskedFolders {
		points = append(points, point{source: "tmpfs", target: path, fsType: "tmpfs", flags: hardened | unix.MS_RDONLY, data: "size=0", optional: true})
	}

	return points
}
