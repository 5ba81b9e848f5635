// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"cmp"
	"slices"
)

// Facility is a part of the computer that a machine may own or share.
type Facility string

// The facilities, by the names that users see.
const (
	KernelModules      Facility = "kernel-modules"
	KernelParameters   Facility = "kernel-parameters"
	KernelArguments    Facility = "kernel-arguments"
	KernelLog          Facility = "kernel-log"
	FileSystems        Facility = "file-systems"
	Disks              Facility = "disks"
	Clock              Facility = "clock"
	CrashEvidence      Facility = "crash-evidence"
	NetworkCards       Facility = "network-cards"
	CgroupReservations Facility = "cgroup-reservations"
	OOMScores          Facility = "oom-scores"
	RootUser           Facility = "root-user"
	Memory             Facility = "memory"
)

// facility is when a facility is withheld, and what that means for a user.
type facility struct {
	withheld func(Platform) bool
	reason   string
	message  string
}

// Reasons of conditions.
const (
	reasonShared     = "SharedWithHost"
	reasonCgroupV1   = "CgroupV1"
	reasonCapability = "CapabilityMissing"
	reasonUserNS     = "UserNamespace"
	reasonLimit      = "CgroupLimit"
)

func inContainer(p Platform) bool { return p.Mode == Container }

var facilities = map[Facility]facility{
	KernelModules: {inContainer, reasonShared,
		"the kernel is the host's: no module is loaded, machine.kernel.modules is not applied, and PCI devices keep their drivers; the host must have what the pods need"},
	KernelParameters: {inContainer, reasonShared,
		"only parameters of the network (net.*) are the machine's own: other sysctls of the system and of machine.sysctls, and machine.sysfs, are not applied; " +
			"the kubelet sees the values that it insists on in files in place of the host's"},
	KernelArguments: {inContainer, reasonShared,
		"the kernel's arguments are the host's: they are not read, and hardening arguments are not required"},
	KernelLog: {inContainer, reasonShared,
		"the kernel's log is the host's: dmesg shows machined's log instead, messages of the kernel are neither kept with those of the boot nor sent to a server, and the kubelet does not report processes that the kernel has killed"},
	FileSystems: {inContainer, reasonShared,
		"the container engine has mounted the file systems; the kernel's own ones (bpf, tracefs, efivarfs) are not mounted"},
	Disks: {inContainer, reasonShared,
		"the machine has no disks: its volumes are folders, machine.install and disk encryption are not applied, and there are no boot entries to upgrade or roll back"},
	Clock: {inContainer, reasonShared,
		"the clock is the host's, and is assumed to be right: machine.time is not applied"},
	CrashEvidence: {inContainer, reasonShared,
		"the firmware's memory and the watchdogs are the host's: the end of an earlier boot is known only from the machine's own journal, and no watchdog is started"},
	NetworkCards: {inContainer, reasonShared,
		"the cards (eth0, eth1, …) are ends of links that the container engine has created"},
	CgroupReservations: {func(p Platform) bool { return p.Limits.CgroupV1 }, reasonCgroupV1,
		"the host has controllers of cgroup v1: the system's services have no groups, no reservations and no limits of their own"},
	OOMScores: {func(p Platform) bool { return p.Limits.NoResource }, reasonCapability,
		"CAP_SYS_RESOURCE is missing: processes of the system are not protected from the kernel's OOM killer, and limits are not raised above the host's"},
	Memory: {func(p Platform) bool { return p.Limits.ForeignMemory > 0 }, reasonLimit,
		"the machine's cgroup has a limit below the memory that the kernel shows: the kubelet reserves the difference for the system"},
	RootUser: {func(p Platform) bool { return p.Limits.UserNamespace }, reasonUserNS,
		"root of the machine is a user of the host: devices cannot be created, and pods that need root of the computer do not work"},
}

// Condition reports a facility that the machine does not own.
type Condition struct {
	Facility        Facility
	Reason, Message string
}

// Conditions returns a condition for each facility that the machine does not own, sorted; on a computer of its own there are none.
func (p Platform) Conditions() []Condition {
	var out []Condition

	for f, held := range facilities {
		if !p.Owns(f) {
			out = append(out, Condition{Facility: f, Reason: held.reason, Message: held.message})
		}
	}

	slices.SortFunc(out, func(a, b Condition) int { return cmp.Compare(a.Facility, b.Facility) })

	return out
}
