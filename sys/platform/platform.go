// SPDX-License-Identifier: Apache-2.0

// Package platform reports where the machine runs, and which parts of the computer it owns there.
//
// A machine in a container has the system's programs, network, files and processes, but shares the kernel, the clock and the disks
// with the host. Process 1 detects the platform once (Detect) and passes it to the controllers and services. Platform.Owns reports
// from one table (facilities.go) whether the machine owns a facility. The machine does not change what it does not own. Users read
// the same table as PlatformConditions, so that no restriction is silent.
//
// No other code reads the environment for this. What a container engine withholds in addition (a capability, cgroup v2) is probed and
// not derived from the mode.
package platform

// Mode is the kind of platform, for which a configuration is validated.
type Mode uint8

// The modes.
const (
	Metal Mode = iota
	Container
	Cloud
)

// String returns the name that users see.
func (m Mode) String() string {
	switch m {
	case Container:
		return "container"
	case Cloud:
		return "cloud"
	default:
		return "metal"
	}
}

// Platform is where the machine runs. The zero Platform is a computer of its own.
type Platform struct {
	Mode Mode
	// UserData is the configuration from the environment of the container: base64, possibly of gzip.
	UserData string
	// Cloud is the name of the cloud in mode Cloud.
	Cloud string
	// Hardware is what the firmware says about the computer; a machine in a container has none.
	Hardware Hardware
	// Limits are the limits that Detect found.
	Limits Limits
}

// Limits are what the platform withholds. They are probed only in a container: on a computer of its own process 1 has all permissions,
// and a failure there is an error.
type Limits struct {
	// UserNamespace is set if root of the machine is not root of the computer.
	UserNamespace bool
	// CgroupV1 is set if some or all of the kernel's controllers are in hierarchies of cgroup v1.
	CgroupV1 bool
	// ForeignMemory is how much of the computer's memory, in bytes, exceeds the limit of the machine's cgroup.
	ForeignMemory uint64
	// NoResource is set if the capability CAP_SYS_RESOURCE is missing.
	NoResource bool
}

// Hardware is what the firmware says about the computer. Some clouds pass the place of their documents in it.
type Hardware struct{ UUID, Serial, Vendor string }

// Name returns the name of the platform: that of the cloud, or of its mode.
func (p Platform) Name() string {
	if p.Mode == Cloud {
		return p.Cloud
	}

	return p.Mode.String()
}

// On returns the platform as a machine of a cloud. A machine in a container stays one: the arguments of the kernel are the host's.
func (p Platform) On(cloud string) Platform {
	if p.Mode == Metal {
		p.Mode, p.Cloud = Cloud, cloud
	}

	return p
}

// Owns reports whether the machine owns a facility and may change it.
func (p Platform) Owns(f Facility) bool {
	held := facilities[f]

	return held.withheld == nil || !held.withheld(p)
}
