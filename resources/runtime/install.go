// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/enum"
)

// UnattendedInstallStatusID is the id of the only UnattendedInstallStatus.
const UnattendedInstallStatusID = "unattended-install"

var unattendedInstallStatusDefinition = domain.Type("UnattendedInstallStatuses", "Phase={.phase}", "Image={.image}", "Error={.error}")

// UnattendedInstallPhase is how far an installation is.
type UnattendedInstallPhase uint8

// The phases.
const (
	UnattendedInstallPending UnattendedInstallPhase = iota
	UnattendedInstallInstalling
	UnattendedInstallInstalled
	UnattendedInstallWaitingForReboot
	UnattendedInstallFailed
)

var unattendedInstallPhases = enum.Of[UnattendedInstallPhase]("pending", "installing", "installed", "waiting-for-reboot", "failed")

func (p UnattendedInstallPhase) String() string { return unattendedInstallPhases.Text(p) }
func (p UnattendedInstallPhase) MarshalText() ([]byte, error) {
	return unattendedInstallPhases.Marshal(p)
}
func (p *UnattendedInstallPhase) UnmarshalText(text []byte) error {
	return unattendedInstallPhases.Parse("phase of an installation", text, p)
}

// UnattendedInstallStatusSpec is an installation to a disk, in the boot that began it.
type UnattendedInstallStatusSpec struct {
	// Image is the release: where it comes from, and its version.
	Image string                 `yaml:"image"           protobuf:"1"`
	Phase UnattendedInstallPhase `yaml:"phase"           protobuf:"2"`
	// Error is why the last attempt failed.
	Error string `yaml:"error,omitempty" protobuf:"3"`
}

// Definition implements resource.Spec.
func (UnattendedInstallStatusSpec) Definition() *resource.Definition {
	return unattendedInstallStatusDefinition
}
