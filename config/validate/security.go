// SPDX-License-Identifier: Apache-2.0

package validate

import "github.com/seed-59268b81/talos/config/v1alpha1"

type protection struct {
	path, without string
	set           bool
}

// protections are the security settings that this version does not implement yet. Their fields have the tag protects, so that the reference
// says that they are refused.
func protections(m *v1alpha1.MachineConfig) []protection {
	return []protection{
		{"machine.systemDiskEncryption", "the disk would not be encrypted", m.Encryption.State != nil || m.Encryption.Ephemeral != nil},
		{"machine.network.kubespan.enabled", "traffic between machines would not be encrypted", v1alpha1.IsTrue(m.Network.KubeSpan.Enabled)},
	}
}

// security refuses security settings that this version does not implement yet: users rely on them. Other settings without effect
// are accepted with a warning, and so are two that protect a machine: SecurityProfileConfig.workloadIsolation and VolumeConfig.mount.secure are in
// each configuration that is generated for 1.14, which must boot. docs/configure.md says what a machine does instead.
func (c *check) security(main *v1alpha1.Config) {
	for _, p := range protections(&main.Machine) {
		if p.set {
			c.notYet(p.path, p.without)
		}
	}
}

func (c *check) notYet(path, without string) {
	c.wrong(path, "not implemented in this version: %s; remove the setting", without)
}
