// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/seed-59268b81/talos/cosi/resource"

// The ids of the types that have one resource.
const (
	VersionID       = "version"
	BootIDID        = "boot-id"
	KernelCmdlineID = "cmdline"
	SecurityStateID = "securitystate"
)

var (
	versionDefinition       = domain.Type("Versions", "Version={.version}")
	bootIDDefinition        = domain.Type("BootIDs", "Boot ID={.bootID}")
	kernelCmdlineDefinition = domain.Alias("cmdline").Sensitive().Type("KernelCmdlines", "Cmdline={.cmdline}") // talos.config.inline is a configuration
	securityStateDefinition = domain.Type("SecurityStates",
		"SecureBoot={.secureBoot}", "BootedWithUKI={.bootedWithUKI}", "ModuleSignatureEnforced={.moduleSignatureEnforced}")
)

// VersionSpec is the version of the operating system.
type VersionSpec struct {
	Version string `yaml:"version" protobuf:"1"`
	Name    string `yaml:"name"    protobuf:"2"`
}

// Definition implements resource.Spec.
func (VersionSpec) Definition() *resource.Definition { return versionDefinition }

// BootIDSpec is the kernel's id of this boot.
type BootIDSpec struct {
	BootID string `yaml:"bootID" protobuf:"1"`
}

// Definition implements resource.Spec.
func (BootIDSpec) Definition() *resource.Definition { return bootIDDefinition }

// KernelCmdlineSpec has the arguments of the kernel.
type KernelCmdlineSpec struct {
	Cmdline string `yaml:"cmdline" protobuf:"1"`
}

// Definition implements resource.Spec.
func (KernelCmdlineSpec) Definition() *resource.Definition { return kernelCmdlineDefinition }

// SecurityStateSpec is how the machine was booted, according to its firmware and kernel.
type SecurityStateSpec struct {
	SecureBoot              bool `yaml:"secureBoot"              protobuf:"1"`
	BootedWithUKI           bool `yaml:"bootedWithUKI"           protobuf:"5"`
	ModuleSignatureEnforced bool `yaml:"moduleSignatureEnforced" protobuf:"7"`
}

// Definition implements resource.Spec.
func (SecurityStateSpec) Definition() *resource.Definition { return securityStateDefinition }
