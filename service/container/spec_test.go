// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"slices"
	"testing"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// TestRestricted: a service that is not privileged, such as etcd, has no capabilities and only the system calls of the default profile.
func TestRestricted(t *testing.T) {
	spec, err := oci.GenerateSpec(namespaces.WithNamespace(t.Context(), "system"), nil, &containers.Container{ID: "etcd"}, restricted()...)
	if err != nil {
		t.Fatal(err)
	}

	if c := spec.Process.Capabilities; len(c.Bounding)+len(c.Effective)+len(c.Permitted)+len(c.Inheritable)+len(c.Ambient) > 0 || !spec.Process.NoNewPrivileges {
		t.Errorf("got capabilities %+v, no new privileges: %t", c, spec.Process.NoNewPrivileges)
	}

	filter := spec.Linux.Seccomp
	if filter == nil || filter.DefaultAction != specs.ActErrno {
		t.Fatalf("got the filter of system calls %+v", filter)
	}

	for _, rule := range filter.Syscalls {
		for _, call := range []string{"mount", "setns", "bpf", "init_module", "kexec_load", "reboot"} {
			if rule.Action == specs.ActAllow && slices.Contains(rule.Names, call) {
				t.Errorf("%s is allowed", call)
			}
		}
	}

	if !slices.Contains(spec.Linux.MaskedPaths, "/proc/cmdline") {
		t.Errorf("got the masked paths %q, want /proc/cmdline too", spec.Linux.MaskedPaths)
	}
}
