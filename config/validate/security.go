// SPDX-License-Identifier: Apache-2.0

package validate

import "github.com/seed-59268b81/talos/config/v1alpha1"

// security rejects security settings that this version does not implement yet: users rely on them. Other settings without effect
// are accepted with a warning.
func (c *check) security(main *v1alpha1.Config) {
	m := &main.Machine

	for _, setting := range []struct {
		path, without string
		set           bool
	}{
		{"machine.systemDiskEncryption", "the disk would not be encrypted", m.Encryption.State != nil || m.Encryption.Ephemeral != nil},
		{"machine.network.kubespan.enabled", "traffic between machines would not be encrypted", v1alpha1.IsTrue(m.Network.KubeSpan.Enabled)},
	} {
		if setting.set {
			c.notYet(setting.path, setting.without)
		}
	}
}

func (c *check) notYet(path, without string) {
	c.wrong(path, "not implemented in this version: %s; remove the setting", without)
}
