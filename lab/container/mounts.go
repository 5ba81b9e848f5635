// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"fmt"
	"path"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/layout"
)

// point is a mount to make, or one of the files and links between them.
type point struct {
	// source is, for a bind, a path as it was before the new root.
	source, target string
	// fsType is that of the kernel, or "bind", "mkdir", "link".
	fsType string
	flags  uintptr
	data   string
	// create makes the file that a bind needs.
	create bool
	// optional points are left out when their source or target is not there.
	optional bool
}

const (
	bind  = "bind"
	mkdir = "mkdir"
	link  = "link"

	hardened = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
)

// devices are those of this computer that a machine sees. A disk, or the
// kernel's log, is none of its business.
var devices = []struct {
	path     string
	optional bool
}{
	{"/dev/null", false}, {"/dev/zero", false}, {"/dev/full", false}, {"/dev/random", false}, {"/dev/urandom", false}, {"/dev/tty", false},
	{"/dev/net/tun", true}, {"/dev/fuse", true},
}

// masked files and folders of /proc and /sys tell about or steer the whole
// computer.
var (
	maskedFiles = []string{
		"/proc/sysrq-trigger", "/proc/kcore", "/proc/keys", "/proc/kmsg", "/proc/latency_stats", "/proc/sched_debug",
		"/proc/timer_list", "/proc/timer_stats", "/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags",
	}
	maskedFolders = []string{"/proc/acpi", "/proc/asound", "/proc/scsi", "/sys/devices/virtual/powercap", "/sys/firmware"}
	readOnly      = []string{"/proc/bus", "/proc/dynamic_debug", "/proc/fs", "/proc/irq", "/proc/mtrr"}
)

// mounts are what stands in a machine before its first process begins, in
// order; the targets are paths in the machine. The flags of what the system
// mounts itself in a virtual machine are the same (machine/boot, Mounts).
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
		// Containers run from here, with the programs in it that run as their owner
		// where there are no overlays. The device files that pods may make work
		// nowhere, as in a virtual machine.
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

// cgroupRoot is where the cgroup file systems are, here and in the machine.
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

// shield makes read-only or hides what is the whole computer's. It is done by
// mounts: the file systems themselves stay writable, since the kernel refuses
// the pods' own mounts of one that is not.
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
