// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "time"

// MachineConfig describes the machine.
type MachineConfig struct {
	Type        MachineType         `yaml:"type"`
	Token       string              `yaml:"token"`
	CA          CertPair            `yaml:"ca,omitempty"`
	AcceptedCAs []Cert              `yaml:"acceptedCAs,omitempty"`
	CertSANs    []string            `yaml:"certSANs"`
	Plane       MachineControlPlane `yaml:"controlPlane,omitempty"`
	Kubelet     KubeletConfig       `yaml:"kubelet,omitempty"`
	Pods        []Object            `yaml:"pods,omitempty"`
	Network     NetworkConfig       `yaml:"network"`
	Disks       []MachineDisk       `yaml:"disks,omitempty"`
	Install     InstallConfig       `yaml:"install,omitempty"`
	Files       []MachineFile       `yaml:"files,omitempty"`
	Env         map[string]string   `yaml:"env,omitempty"`
	Time        TimeConfig          `yaml:"time,omitempty"`
	Sysctls     map[string]string   `yaml:"sysctls,omitempty"`
	Sysfs       map[string]string   `yaml:"sysfs,omitempty"`
	Registries  RegistriesConfig    `yaml:"registries,omitempty"`
	Encryption  SystemEncryption    `yaml:"systemDiskEncryption,omitempty"`
	Features    FeaturesConfig      `yaml:"features,omitempty"`
	Udev        UdevConfig          `yaml:"udev,omitempty"`
	Logging     LoggingConfig       `yaml:"logging,omitempty"`
	Kernel      KernelConfig        `yaml:"kernel,omitempty"`
	Seccomp     []SeccompProfile    `yaml:"seccompProfiles,omitempty"`
	RuntimeSpec Object              `yaml:"baseRuntimeSpecOverrides,omitempty" merge:"replace"`
	NodeLabels  map[string]string   `yaml:"nodeLabels,omitempty"`
	Annotations map[string]string   `yaml:"nodeAnnotations,omitempty"`
	Taints      map[string]string   `yaml:"nodeTaints,omitempty"`
}

// MachineControlPlane turns off parts of the control plane on this machine.
type MachineControlPlane struct {
	ControllerManager Switch `yaml:"controllerManager,omitempty"`
	Scheduler         Switch `yaml:"scheduler,omitempty"`
}

// Switch turns off a feature that is on by default.
type Switch struct {
	Disabled *bool `yaml:"disabled,omitempty"`
}

// MachineDisk is a disk to partition, format and mount.
type MachineDisk struct {
	Device     string          `yaml:"device,omitempty"`
	Partitions []DiskPartition `yaml:"partitions,omitempty"`
}

// DiskPartition is one partition of a MachineDisk. Size is a number of bytes or a size such as "100MB".
type DiskPartition struct {
	Size       string `yaml:"size,omitempty"`
	MountPoint string `yaml:"mountpoint,omitempty"`
}

// InstallConfig configures the installation of the system to a disk.
type InstallConfig struct {
	Disk              string              `yaml:"disk,omitempty"`
	DiskSelector      InstallDiskSelector `yaml:"diskSelector,omitempty"`
	ExtraKernelArgs   []string            `yaml:"extraKernelArgs,omitempty"`
	Image             string              `yaml:"image,omitempty"`
	Extensions        []InstallExtension  `yaml:"extensions,omitempty"`
	Bootloader        *bool               `yaml:"bootloader,omitempty"`
	Wipe              *bool               `yaml:"wipe,omitempty"`
	LegacyBIOSSupport *bool               `yaml:"legacyBIOSSupport,omitempty"`
	GrubUseUKICmdline *bool               `yaml:"grubUseUKICmdline,omitempty"`
}

// InstallDiskSelector selects the disk to install to by its properties.
type InstallDiskSelector struct {
	Size     string `yaml:"size,omitempty"`
	Name     string `yaml:"name,omitempty"`
	Model    string `yaml:"model,omitempty"`
	Serial   string `yaml:"serial,omitempty"`
	Modalias string `yaml:"modalias,omitempty"`
	UUID     string `yaml:"uuid,omitempty"`
	WWID     string `yaml:"wwid,omitempty"`
	Type     string `yaml:"type,omitempty"`
	BusPath  string `yaml:"busPath,omitempty"`
}

// InstallExtension is an image with a system extension.
type InstallExtension struct {
	Image string `yaml:"image"`
}

// MachineFile is a file to write. Op is create, append or overwrite.
type MachineFile struct {
	Content     string   `yaml:"content"`
	Permissions FileMode `yaml:"permissions"`
	Path        string   `yaml:"path"`
	Op          string   `yaml:"op"`
}

// TimeConfig configures the time synchronization.
type TimeConfig struct {
	Disabled    *bool         `yaml:"disabled,omitempty"`
	Servers     []string      `yaml:"servers,omitempty"`
	BootTimeout time.Duration `yaml:"bootTimeout,omitempty"`
}

// UdevConfig has additional udev rules.
type UdevConfig struct {
	Rules []string `yaml:"rules,omitempty"`
}

// LoggingConfig lists the destinations of service logs.
type LoggingConfig struct {
	Destinations []LoggingDestination `yaml:"destinations,omitempty"`
}

// LoggingDestination is one destination of logs.
type LoggingDestination struct {
	Endpoint  URL               `yaml:"endpoint,omitempty"`
	Format    string            `yaml:"format,omitempty"`
	ExtraTags map[string]string `yaml:"extraTags,omitempty"`
}

// KernelConfig lists kernel modules to load.
type KernelConfig struct {
	Modules []KernelModule `yaml:"modules,omitempty"`
}

// KernelModule is one module and its parameters.
type KernelModule struct {
	Name       string   `yaml:"name"`
	Parameters []string `yaml:"parameters,omitempty"`
}

// SeccompProfile is a named seccomp profile for pods.
type SeccompProfile struct {
	Name  string `yaml:"name"`
	Value Object `yaml:"value"`
}
