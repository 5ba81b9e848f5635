// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "time"

// MachineConfig describes the machine.
type MachineConfig struct {
	// The role of the machine: controlplane or worker.
	Type MachineType `yaml:"type"`
	// The token with which a worker gets its certificate from a control plane.
	Token string `yaml:"token"`
	// The authority of the machine API. Workers have it without its key.
	CA CertPair `yaml:"ca,omitempty"`
	// More authorities of the machine API that are accepted.
	AcceptedCAs []Cert `yaml:"acceptedCAs,omitempty"`
	// More names and addresses for the certificate of the machine API.
	CertSANs []string `yaml:"certSANs"`
	// Which parts of the control plane the machine does not run.
	Plane MachineControlPlane `yaml:"controlPlane,omitempty" replaced:"1.14"`
	// The kubelet.
	Kubelet KubeletConfig `yaml:"kubelet,omitempty" replaced:"1.14"`
	// Pods that the kubelet runs by itself, without an API server, as Kubernetes documents them.
	Pods []Object `yaml:"pods,omitempty" replaced:"1.14"`
	// The network of the machine.
	Network NetworkConfig `yaml:"network" replaced:"1.14"`
	// Disks that are partitioned, formatted and mounted.
	Disks []MachineDisk `yaml:"disks,omitempty" replaced:"1.14"`
	// How the system is installed to a disk.
	Install InstallConfig `yaml:"install,omitempty" replaced:"1.14"`
	// Files that are written.
	Files []MachineFile `yaml:"files,omitempty" replaced:"1.14"`
	// Environment variables of the system's programs, such as http_proxy, https_proxy and no_proxy.
	Env map[string]string `yaml:"env,omitempty" replaced:"1.14"`
	// How the machine gets the time.
	Time TimeConfig `yaml:"time,omitempty" replaced:"1.14"`
	// Parameters of the kernel, by their names below /proc/sys, with dots.
	Sysctls map[string]string `yaml:"sysctls,omitempty" replaced:"1.14"`
	// Values for files below /sys, by their paths with dots.
	Sysfs map[string]string `yaml:"sysfs,omitempty" replaced:"1.14"`
	// Where and how images are pulled.
	Registries RegistriesConfig `yaml:"registries,omitempty" replaced:"1.14"`
	// The encryption of the system's own partitions.
	Encryption SystemEncryption `yaml:"systemDiskEncryption,omitempty" replaced:"1.14"`
	// Features of the system.
	Features FeaturesConfig `yaml:"features,omitempty"`
	// Rules for devices.
	Udev UdevConfig `yaml:"udev,omitempty" replaced:"1.14"`
	// Where the logs of services are sent.
	Logging LoggingConfig `yaml:"logging,omitempty"`
	// Modules of the kernel.
	Kernel KernelConfig `yaml:"kernel,omitempty" replaced:"1.14"`
	// Seccomp profiles that pods can name.
	Seccomp []SeccompProfile `yaml:"seccompProfiles,omitempty"`
	// What is changed in the specification that the container runtime starts containers from (OCI).
	RuntimeSpec Object `yaml:"baseRuntimeSpecOverrides,omitempty" merge:"replace" replaced:"1.14"`
	// Labels of the Node.
	NodeLabels map[string]string `yaml:"nodeLabels,omitempty" replaced:"1.14"`
	// Annotations of the Node.
	Annotations map[string]string `yaml:"nodeAnnotations,omitempty" replaced:"1.14"`
	// Taints of the Node: VALUE:EFFECT, or EFFECT, by their keys.
	Taints map[string]string `yaml:"nodeTaints,omitempty" replaced:"1.14"`
}

// MachineControlPlane turns off parts of the control plane on this machine.
type MachineControlPlane struct {
	// The controller manager.
	ControllerManager Switch `yaml:"controllerManager,omitempty"`
	// The scheduler.
	Scheduler Switch `yaml:"scheduler,omitempty"`
}

// Switch turns off a feature that is on by default.
type Switch struct {
	// Whether it is off.
	Disabled *bool `yaml:"disabled,omitempty"`
}

// MachineDisk is a disk to partition, format and mount.
type MachineDisk struct {
	// The path of the disk.
	Device string `yaml:"device,omitempty"`
	// The partitions of the disk.
	Partitions []DiskPartition `yaml:"partitions,omitempty"`
}

// DiskPartition is one partition of a MachineDisk. Size is a number of bytes or a size such as "100MB".
type DiskPartition struct {
	// The size: bytes, or with a unit such as 100MB; what is left without it.
	Size string `yaml:"size,omitempty"`
	// Where the partition is mounted: a path below /var.
	MountPoint string `yaml:"mountpoint,omitempty"`
}

// InstallConfig configures the installation of the system to a disk.
type InstallConfig struct {
	// The path of the disk that the system is installed to.
	Disk string `yaml:"disk,omitempty"`
	// What selects the disk, instead of disk.
	DiskSelector InstallDiskSelector `yaml:"diskSelector,omitempty"`
	// More arguments of the kernel.
	ExtraKernelArgs []string `yaml:"extraKernelArgs,omitempty"`
	// The image of the installer.
	Image string `yaml:"image,omitempty"`
	// Images of system extensions. An installer image that has them takes their place.
	Extensions []InstallExtension `yaml:"extensions,omitempty" replaced:"1.12"`
	// Whether the boot loader is installed.
	Bootloader *bool `yaml:"bootloader,omitempty"`
	// Whether the disk is wiped first.
	Wipe *bool `yaml:"wipe,omitempty"`
	// Whether the disk also starts on machines without UEFI that look for a bootable partition.
	LegacyBIOSSupport *bool `yaml:"legacyBIOSSupport,omitempty"`
	// Whether GRUB starts the kernel with the arguments of the unified kernel image.
	GrubUseUKICmdline *bool `yaml:"grubUseUKICmdline,omitempty"`
}

// InstallDiskSelector selects the disk to install to by its properties.
type InstallDiskSelector struct {
	// The size: an operator and a size, such as >= 100GB.
	Size string `yaml:"size,omitempty"`
	// The name of the disk.
	Name string `yaml:"name,omitempty"`
	// The model of the disk.
	Model string `yaml:"model,omitempty"`
	// The serial number of the disk.
	Serial string `yaml:"serial,omitempty"`
	// The alias by which the kernel finds the driver of the disk.
	Modalias string `yaml:"modalias,omitempty"`
	// The UUID of the disk.
	UUID string `yaml:"uuid,omitempty"`
	// The worldwide identifier of the disk.
	WWID string `yaml:"wwid,omitempty"`
	// The type of the disk: ssd, hdd, nvme or sd.
	Type string `yaml:"type,omitempty"`
	// The path of the disk's bus.
	BusPath string `yaml:"busPath,omitempty"`
}

// InstallExtension is an image with a system extension.
type InstallExtension struct {
	// The image.
	Image string `yaml:"image"`
}

// MachineFile is a file to write. Op is create, append or overwrite.
type MachineFile struct {
	// The text of the file.
	Content string `yaml:"content"`
	// The permissions, in octal.
	Permissions FileMode `yaml:"permissions"`
	// The path of the file.
	Path string `yaml:"path"`
	// What is done: create, append or overwrite.
	Op string `yaml:"op"`
}

// TimeConfig configures the time synchronization.
type TimeConfig struct {
	// Whether the machine does not set its clock.
	Disabled *bool `yaml:"disabled,omitempty"`
	// The NTP servers.
	Servers []string `yaml:"servers,omitempty"`
	// How long the machine waits for the time when it starts; without limit without it.
	BootTimeout time.Duration `yaml:"bootTimeout,omitempty"`
}

// UdevConfig has additional udev rules.
type UdevConfig struct {
	// The rules, as udev(7) documents them.
	Rules []string `yaml:"rules,omitempty"`
}

// LoggingConfig lists the destinations of service logs.
type LoggingConfig struct {
	// The destinations.
	Destinations []LoggingDestination `yaml:"destinations,omitempty"`
}

// LoggingDestination is one destination of logs.
type LoggingDestination struct {
	// The URL: tcp://HOST:PORT or udp://HOST:PORT.
	Endpoint URL `yaml:"endpoint,omitempty"`
	// The format of a message: json_lines.
	Format string `yaml:"format,omitempty"`
	// Keys and values that each message also has.
	ExtraTags map[string]string `yaml:"extraTags,omitempty"`
}

// KernelConfig lists kernel modules to load.
type KernelConfig struct {
	// Modules that are loaded.
	Modules []KernelModule `yaml:"modules,omitempty"`
}

// KernelModule is one module and its parameters.
type KernelModule struct {
	// The name of the module.
	Name string `yaml:"name"`
	// The parameters of the module: NAME=VALUE.
	Parameters []string `yaml:"parameters,omitempty"`
}

// SeccompProfile is a named seccomp profile for pods.
type SeccompProfile struct {
	// The file name of the profile, by which pods name it.
	Name string `yaml:"name"`
	// The profile, as the container runtime reads it.
	Value Object `yaml:"value"`
}
