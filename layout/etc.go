// SPDX-License-Identifier: Apache-2.0

package layout

// ManagedEtc are the paths below /etc that the system writes itself, or that decide about its security. A configuration cannot replace
// them, nor what is below them.
var ManagedEtc = []string{
	"hosts", "hostname", "resolv.conf", "machine-id", "os-release", "extensions.yaml", "mtab", "nsswitch.conf", "passwd", "group", "shadow",
	"ca-certificates", "ssl", "pki", "cni", "containerd", "cri", "kubernetes", "localtime",
	"iscsi/initiatorname.iscsi", "nvme/hostnqn", "nvme/hostid", "selinux", UdevRules,
}

// UdevRules is the file with the udev rules of the configuration, below /etc.
const UdevRules = "udev/rules.d/99-talos.rules"

// EtcLayersDir has the layers of /etc, once it has files that the image does not have.
const EtcLayersDir = SystemDir + "/overlays/etc"

// CRICustomization is the file by which machine.files changes the configuration of the container runtime.
const CRICustomization = "/etc/cri/conf.d/20-customization.part"
