// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"fmt"
	"path"
	"regexp"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// ContainerConfig runs a container beside Kubernetes.
type ContainerConfig struct {
	document.Named `yaml:",inline"`
	// The image.
	Image value.Image `yaml:"image" required:"true"`
	// The program and its first arguments; those of the image without it.
	Entrypoint []string `yaml:"entrypoint,omitempty"`
	// The arguments; those of the image without any.
	Args []string `yaml:"args,omitempty"`
	// The folder that the program starts in; that of the image without it.
	WorkingDir string `yaml:"workingDir,omitempty"`
	// The user; that of the image without it.
	RunAs *ContainerUser `yaml:"runAs,omitempty"`
	// Environment variables: NAME=VALUE.
	Environment []string `yaml:"environment,omitempty"`
	// What is mounted in the container.
	Mounts []ContainerMount `yaml:"mounts,omitempty"`
	// What the container may do.
	Security ContainerSecurity `yaml:"security,omitempty" protects:"true"`
	// The network of the container.
	Network ContainerNetwork `yaml:"network,omitempty"`
	// How much the container may use.
	Resources ContainerResources `yaml:"resources,omitempty"`
	// What must be there before the container starts.
	DependsOn ContainerDependencies `yaml:"dependsOn,omitempty"`
}

// ContainerUser is the user of a container.
type ContainerUser struct {
	// The number of the user.
	UID uint32 `yaml:"uid"`
	// The number of the group.
	GID uint32 `yaml:"gid"`
}

// ContainerMount is a mount in a container: one of userVolume, tmpfs and hostPath.
type ContainerMount struct {
	// A volume of a UserVolumeConfig.
	UserVolume *ContainerVolume `yaml:"userVolume,omitempty"`
	// A file system in memory.
	Tmpfs *ContainerTmpfs `yaml:"tmpfs,omitempty"`
	// A folder or file of the machine.
	HostPath *ContainerHostPath `yaml:"hostPath,omitempty"`
}

// MountOption is an option of a mount.
type MountOption string

// The options.
const (
	MountReadOnly  MountOption = "ro"
	MountReadWrite MountOption = "rw"
	MountNoExec    MountOption = "noexec"
	MountNoSUID    MountOption = "nosuid"
	MountNoDev     MountOption = "nodev"
	MountNoATime   MountOption = "noatime"
	MountRBind     MountOption = "rbind"
	MountRShared   MountOption = "rshared"
)

// Values implements document.Enum.
func (MountOption) Values() []string {
	return document.EnumOf(MountReadOnly, MountReadWrite, MountNoExec, MountNoSUID, MountNoDev, MountNoATime, MountRBind, MountRShared)
}

// ContainerVolume mounts a volume.
type ContainerVolume struct {
	// The name of the volume.
	Name string `yaml:"name" required:"true"`
	// Where it is mounted.
	Destination string `yaml:"destination" required:"true"`
	// Options of the mount.
	Options []MountOption `yaml:"options,omitempty"`
}

// ContainerTmpfs mounts a file system in memory.
type ContainerTmpfs struct {
	// Where it is mounted.
	Destination string `yaml:"destination" required:"true"`
	// How large it may become.
	Size value.ByteSize `yaml:"size,omitempty"`
	// Options of the mount.
	Options []string `yaml:"options,omitempty"`
}

// ContainerHostPath mounts a folder or file of the machine.
type ContainerHostPath struct {
	// The folder or file.
	Source string `yaml:"source" required:"true"`
	// Where it is mounted.
	Destination string `yaml:"destination" required:"true"`
	// Options of the mount.
	Options []string `yaml:"options,omitempty"`
}

// ContainerSecurity is what a container may do.
type ContainerSecurity struct {
	// The profile that the capabilities change.
	Profile string `yaml:"profile,omitempty"`
	// Capabilities of the kernel.
	Capabilities ContainerCapabilities `yaml:"capabilities,omitempty"`
}

// ContainerCapabilities changes the capabilities of a container.
type ContainerCapabilities struct {
	// Capabilities that it has beside those of the profile.
	Add []string `yaml:"add,omitempty"`
	// Capabilities that it does not have.
	Drop []string `yaml:"drop,omitempty"`
}

// ContainerNetwork is the network of a container.
type ContainerNetwork struct {
	// Whether it is the machine's own, or none.
	Mode string `yaml:"mode,omitempty"`
}

// ContainerResources is how much a container may use.
type ContainerResources struct {
	// The limits.
	Limits ContainerLimits `yaml:"limits,omitempty"`
}

// ContainerLimits limits a container.
type ContainerLimits struct {
	// Processors, as Kubernetes writes them: 500m is half of one.
	CPU string `yaml:"cpu,omitempty"`
	// Memory, as Kubernetes writes it.
	Memory string `yaml:"memory,omitempty"`
}

// ContainerDependencies are what must be there before a container starts.
type ContainerDependencies struct {
	// Paths of the machine.
	Paths []string `yaml:"paths,omitempty"`
	// States of the network, such as addresses or connectivity.
	Networks []string `yaml:"networks,omitempty"`
	// Whether the time must be right.
	Time *bool `yaml:"time,omitempty"`
	// Other containers.
	Containers []string `yaml:"containers,omitempty"`
}

var container = document.Of[ContainerConfig]("ContainerConfig", `apiVersion: v1alpha1
kind: ContainerConfig
name: agent
image: registry.example.com/agent:v1.0.0
args:
    - --config=/etc/agent/agent.yaml
mounts:
    - hostPath:
        source: /var/lib/agent
        destination: /var/lib/agent
        options:
            - rbind
            - rw
`)

// containerName is what containerd takes for the identity of a container.
var containerName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// Validate implements document.Validator.
func (c *ContainerConfig) Validate(r *document.Report) {
	if !containerName.MatchString(c.DocName) {
		r.Wrong("name", "%q is not the name of a container: want 1 to 63 lower-case letters, digits and inner dashes", c.DocName)
	}

	for i, m := range c.Mounts {
		at := fmt.Sprintf("mounts[%d]", i)

		var destinations []string

		if m.UserVolume != nil {
			destinations = append(destinations, m.UserVolume.Destination)
		}

		if m.Tmpfs != nil {
			destinations = append(destinations, m.Tmpfs.Destination)
		}

		if m.HostPath != nil {
			destinations = append(destinations, m.HostPath.Destination)
		}

		if len(destinations) != 1 {
			r.Wrong(at, "want one of userVolume, tmpfs and hostPath, got %d", len(destinations))
		}

		for _, d := range destinations {
			if d != "" && !path.IsAbs(d) {
				r.Wrong(at, "the destination %q is not an absolute path", d)
			}
		}
	}
}

// ExtensionServiceConfig has files and variables for the service of a system extension. Its name is that of the service.
type ExtensionServiceConfig struct {
	document.Named `yaml:",inline"`
	// Files of the service.
	ConfigFiles []ExtensionFile `yaml:"configFiles,omitempty"`
	// Environment variables: NAME=VALUE.
	Environment []string `yaml:"environment,omitempty"`
}

// ExtensionFile is a file of a service.
type ExtensionFile struct {
	// The text of the file.
	Content string `yaml:"content" required:"true"`
	// Where the service finds it.
	MountPath string `yaml:"mountPath" required:"true"`
}

var extensionService = document.Of[ExtensionServiceConfig]("ExtensionServiceConfig", `apiVersion: v1alpha1
kind: ExtensionServiceConfig
name: nut-client
configFiles:
    - content: MONITOR ups@192.0.2.20 1 remote password
      mountPath: /usr/local/etc/nut/upsmon.conf
environment:
    - NUT_UPS=ups
`)

// Validate implements document.Validator.
func (c *ExtensionServiceConfig) Validate(r *document.Report) {
	if len(c.ConfigFiles) == 0 && len(c.Environment) == 0 {
		r.Wrong("", "says nothing: set configFiles or environment")
	}

	for i, f := range c.ConfigFiles {
		if f.MountPath != "" && !path.IsAbs(f.MountPath) {
			r.Wrong(fmt.Sprintf("configFiles[%d].mountPath", i), "%q is not an absolute path", f.MountPath)
		}
	}
}

// SecurityProfileConfig says how far containers of Kubernetes are kept apart from the machine.
type SecurityProfileConfig struct {
	document.Header `yaml:",inline"`
	// Whether they run in a sandbox of their own.
	WorkloadIsolation *bool `yaml:"workloadIsolation,omitempty"`
}

var securityProfile = document.Of[SecurityProfileConfig]("SecurityProfileConfig", `apiVersion: v1alpha1
kind: SecurityProfileConfig
workloadIsolation: true
`)

// UnattendedInstallConfig has the machine install itself to a disk.
type UnattendedInstallConfig struct {
	document.Header `yaml:",inline"`
	// Whether the machine restarts from the disk afterwards.
	Reboot *bool `yaml:"reboot,omitempty"`
	// What is installed.
	Installer Installer `yaml:"installer,omitempty"`
	// Where it is installed.
	Provisioning InstallProvisioning `yaml:"provisioning" required:"true"`
}

// Installer is what is installed.
type Installer struct {
	// The image.
	Image value.Image `yaml:"image,omitempty"`
}

// InstallProvisioning is where the system is installed.
type InstallProvisioning struct {
	// What selects the disk.
	DiskSelector InstallDisk `yaml:"diskSelector" required:"true"`
	// Whether the disk is wiped first.
	Wipe bool `yaml:"wipe,omitempty"`
}

// InstallDisk selects the disk that the system is installed to.
type InstallDisk struct {
	// A CEL expression over disk, which is true for the disk that is meant.
	Match value.DiskExpression `yaml:"match" required:"true"`
}

var unattendedInstall = document.Of[UnattendedInstallConfig]("UnattendedInstallConfig", `apiVersion: v1alpha1
kind: UnattendedInstallConfig
reboot: true
provisioning:
    diskSelector:
        match: disk.size > 20u * GiB
`, document.Replaces("machine.install"))

// SideroLinkConfig connects the machine to a management server through a WireGuard tunnel.
type SideroLinkConfig struct {
	document.Header `yaml:",inline"`
	// The URL of the server: https or grpc.
	APIURL value.URL `yaml:"apiUrl" required:"true"`
	// What tells this machine from others that have the same identity.
	UniqueToken string `yaml:"uniqueToken,omitempty"`
}

var sideroLink = document.Of[SideroLinkConfig]("SideroLinkConfig", `apiVersion: v1alpha1
kind: SideroLinkConfig
apiUrl: https://siderolink.example.com/?jointoken=token
`)
