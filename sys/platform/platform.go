// SPDX-License-Identifier: Apache-2.0

// Package platform tells where the machine runs, and what of the computer is its own there.
//
// A machine in a container has the system's programs, network, files and processes, but shares the kernel, the clock and
// the disks with others. Process 1 decides once what it is (Detect) and hands the Platform to whoever needs to know.
// There is one question, Platform.Owns, and one table behind it (facilities.go): what the machine does not own it
// leaves alone, and the same table is what users read as PlatformConditions. So nothing is left alone in silence.
//
// The environment is read in no other place. What a container engine withholds beyond that (a capability, cgroup v2) is
// probed and not concluded from the mode.
package platform

// Mode is the kind of place, as a configuration is validated for it.
type Mode uint8

// The modes. A cloud is not told from metal yet.
const (
	Metal Mode = iota
	Container
)

// String is the name that users see.
func (m Mode) String() string {
	if m == Container {
		return "container"
	}

	return "metal"
}

// Platform is where the machine runs. The zero Platform is a computer of its own.
type Platform struct {
	Mode Mode
	// UserData is the configuration that whoever started the container passed in its environment: base64, maybe gzip.
	UserData string
	// Limits that were found.
	Limits Limits
}

// Limits are what the place withholds. They are probed in a container only: on a computer of its own process 1 has all
// rights, and what fails there is an error.
type Limits struct {
	// UserNamespace tells that root of the machine is not root of the computer.
	UserNamespace bool
	// CgroupV1 tells that the kernel's controllers are, all or some of them, in hierarchies of the first version.
	CgroupV1 bool
	// ForeignMemory is how much of the computer's memory, in bytes, is beyond the limit of the machine's cgroup.
	ForeignMemory uint64
	// NoResource tells that the capability CAP_SYS_RESOURCE is missing.
	NoResource bool
}

// Name of the platform. It is the mode's as long as clouds are not told apart.
func (p Platform) Name() string { return p.Mode.String() }

// Owns reports whether a facility is the machine's own, to set and to change.
func (p Platform) Owns(f Facility) bool {
	held := facilities[f]

	return held.withheld == nil || !held.withheld(p)
}
