// SPDX-License-Identifier: Apache-2.0

package layout

// Folders of the running system, on tmpfs.
const (
	RunDir    = "/run"
	SystemDir = "/system"

	SystemRunDir     = SystemDir + "/run"
	MachinedRunDir   = SystemRunDir + "/machined"
	APIDRunDir       = SystemRunDir + "/apid"
	TrustdRunDir     = SystemRunDir + "/trustd"
	DiscoverydRunDir = SystemRunDir + "/discoveryd"

	// EmbeddedConfig is a configuration that was made a part of the image, below the root.
	EmbeddedConfig = "usr/local/etc/talos/config.yaml"

	// SBOMDir has the lists of the software in the image, in SPDX, below the root.
	SBOMDir = "usr/share/spdx"

	// CABundle has the authorities that the machine trusts, for all programs.
	CABundle = "/etc/ssl/certs/ca-certificates.crt"

	// EtcDir has the files that are bound over those of /etc.
	EtcDir = SystemDir + "/etc"
	// ProcDir has the files that are bound over those of /proc in a container. CmdlineFile has the kernel's command line without
	// its secrets.
	ProcDir     = SystemDir + "/proc"
	CmdlineFile = SystemDir + "/cmdline"
	// ResolvConf is for pods that use the node's resolvers.
	ResolvedDir = SystemDir + "/resolved"
	ResolvConf  = ResolvedDir + "/resolv.conf"

	SecretsDir           = SystemDir + "/secrets"
	EtcdSecretsDir       = SecretsDir + "/etcd"
	KubernetesSecretsDir = SecretsDir + "/kubernetes"
	ConfigDir            = SystemDir + "/config"
	KubernetesConfigDir  = ConfigDir + "/kubernetes"

	ContainerdRunDir = RunDir + "/containerd"
	ContainerdSocket = ContainerdRunDir + "/containerd.sock"
	// CRIDir has containerd's configuration, and RegistryHostsDir that of each registry.
	CRIDir           = EtcDir + "/cri"
	ContainerdConfig = CRIDir + "/containerd.toml"
	RegistryHostsDir = CRIDir + "/hosts"
	// RegistryCredentials has the credentials of registries, for the machine's own pulls.
	RegistryCredentials = CRIDir + "/credentials.json"
	// ImageRules is the file of rules by which images may be pulled, beside RegistryCredentials.
	ImageRules = CRIDir + "/image-rules.json"
	// BaseRuntimeSpec is the specification with which the containers of Kubernetes begin, where the configuration changes it.
	BaseRuntimeSpec = CRIDir + "/base-runtime-spec.json"
)

// Folders on the system's partitions.
const (
	// StateDir is where STATE is mounted, VarDir EPHEMERAL, and ImageCacheDir IMAGECACHE.
	StateDir      = SystemDir + "/state"
	VarDir        = "/var"
	ImageCacheDir = SystemDir + "/imagecache"

	varLib        = VarDir + "/lib"
	ContainerdDir = varLib + "/containerd"
	EtcdDataDir   = varLib + "/etcd"
	// EtcdLogDir has etcd's log, below its data directory: without files of EtcdLogPattern in it, etcd has no data.
	EtcdLogDir     = "member/wal"
	EtcdLogPattern = "*.wal"
	// EtcdBootstrapFile records a bootstrap request, and EtcdSnapshotFile is the snapshot for it.
	EtcdBootstrapFile = varLib + "/etcd.bootstrap"
	EtcdSnapshotFile  = varLib + "/etcd.snapshot"
	// EtcdMembersFile has the addresses of the members of etcd, by which a member whose data is lost finds the cluster again.
	EtcdMembersFile = varLib + "/etcd.members"

	KubeletDir        = varLib + "/kubelet"
	KubeletPKIDir     = KubeletDir + "/pki"
	kubeletSeccompDir = KubeletDir + "/seccomp"
	// SeccompProfilesDir has the profiles that pods use as localhostProfile.
	SeccompProfilesDir = kubeletSeccompDir + "/profiles"

	varLog           = VarDir + "/log"
	varLogAudit      = varLog + "/audit"
	AuditDir         = varLogAudit + "/kube"
	ContainerLogsDir = varLog + "/containers"
	PodLogsDir       = varLog + "/pods"

	// VolumesDir is where the volumes of users are mounted.
	VolumesDir = VarDir + "/mnt"

	varSystem   = VarDir + "/system"
	overlaysDir = varSystem + "/overlays"
	// OptDir is where pods install programs for the machine, such as the plugins of a CNI. OptOverlay is the start of the names of the
	// folders with what they change there.
	OptDir     = "/opt"
	OptOverlay = overlaysDir + "/opt"
)

// Folder is a folder that the system creates. Mode has the bits of chmod(2).
type Folder struct {
	Path string
	Mode uint32
	UID  int
}

// SystemFolders are created at each boot, each after its parent.
var SystemFolders = []Folder{
	{SystemRunDir, 0o755, 0},
	{MachinedRunDir, 0o755, 0},
	{APIDRunDir, 0o750, UserAPID},
	{TrustdRunDir, 0o750, UserTrustd},
	{DiscoverydRunDir, 0o750, UserDiscoveryd},
	{SystemDir + "/var", 0o755, 0},
	{EtcDir, 0o755, 0},
	{SystemDir + "/libexec", 0o755, 0},
	{SecretsDir, 0o711, 0},
	{ConfigDir, 0o700, 0},
	{StateDir, 0o700, 0},
	{SystemDir + "/overlays", 0o700, 0},
	{ResolvedDir, 0o755, 0},
	{RunDir + "/lock", 0o755, 0},
	{ContainerdRunDir, 0o711, 0},
}

// EphemeralFolders are created after EPHEMERAL is mounted, each after its parent.
var EphemeralFolders = []Folder{
	{varLib, 0o755, 0},
	{varLib + "/cni", 0o700, 0},
	{ContainerdDir, 0o700, 0},
	{EtcdDataDir, 0o700, UserEtcd},
	{KubeletDir, 0o700, 0},
	{KubeletPKIDir, 0o700, 0},
	{kubeletSeccompDir, 0o755, 0},
	{SeccompProfilesDir, 0o700, 0},
	{varLog, 0o755, 0},
	{varLogAudit, 0o755, 0},
	{AuditDir, 0o700, UserAPIServer},
	{ContainerLogsDir, 0o755, 0},
	{PodLogsDir, 0o755, 0},
	{VolumesDir, 0o755, 0},
	{varSystem, 0o755, 0},
	{overlaysDir, 0o700, 0},
	{VarDir + "/tmp", 0o1777, 0},
}
