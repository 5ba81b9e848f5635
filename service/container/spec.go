// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"sync"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/contrib/seccomp"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/oci"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/oom"
)

// spec returns the options of the OCI runtime spec.
func (c *Container) spec(image containerd.Image) []oci.SpecOpts {
	opts := []oci.SpecOpts{
		oci.WithDefaultSpec(),
		withImageConfig(image), // and not its user: a service has its own
		oci.WithProcessArgs(c.Argv...),
		oci.WithEnv(c.Env),
		oci.WithHostNamespace(specs.NetworkNamespace),
		oci.WithCgroup("/" + c.Cgroup),
		oci.WithUIDGID(c.UID, c.GID),
		oci.WithMounts(c.Mounts),
		c.resources,
	}

	if c.HostPID {
		opts = append(opts, oci.WithHostNamespace(specs.PIDNamespace))
	}

	if c.Privileged {
		opts = append(opts, privileged()...)
	} else {
		opts = append(opts, restricted()...)
	}

	return opts
}

// restricted takes all capabilities away, and the system calls that containerd's default profile refuses.
func restricted() []oci.SpecOpts {
	return []oci.SpecOpts{
		oci.WithCapabilities(nil),
		oci.WithNoNewPrivileges,
		maskCmdline,
		seccomp.WithDefaultProfile(), // it depends on the capabilities
	}
}

// privileged gives all capabilities and devices, and removes the protection of the kernel's files.
func privileged() []oci.SpecOpts {
	return []oci.SpecOpts{
		oci.WithAllCurrentCapabilities,
		oci.WithAllDevicesAllowed,
		oci.WithHostDevices,
		oci.WithMaskedPaths(nil),
		oci.WithReadonlyPaths(nil),
		oci.WithSeccompUnconfined,
		oci.WithWriteableSysfs,
		oci.WithWriteableCgroupfs,
	}
}

// maskCmdline also hides the kernel's arguments, which may contain a configuration.
func maskCmdline(_ context.Context, _ oci.Client, _ *containers.Container, s *oci.Spec) error {
	s.Linux.MaskedPaths = append(s.Linux.MaskedPaths, "/proc/cmdline")

	return nil
}

// openFiles is the limit of open files of a container: that of machined, because it cannot be raised everywhere.
var openFiles = sync.OnceValue(func() uint64 {
	const most = 1048576

	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		return most
	}

	return min(most, own.Max)
})

func (c *Container) resources(_ context.Context, _ oci.Client, _ *containers.Container, s *oci.Spec) error {
	score := oom.Allowed(c.OOMScoreAdj)
	s.Process.OOMScoreAdj = &score
	s.Linux.RootfsPropagation = c.RootPropagation
	// The system sets the limits of the cgroup; the runtime must not change them.
	s.Linux.Resources = &specs.LinuxResources{Devices: s.Linux.Resources.Devices}
	// Services open many files; containerd's default is too low.
	s.Process.Rlimits = []specs.POSIXRlimit{{Type: "RLIMIT_NOFILE", Hard: openFiles(), Soft: openFiles()}}

	return nil
}
