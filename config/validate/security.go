// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"maps"
	"slices"

	"github.com/seed-59268b81/talos/config/strict"
	"github.com/seed-59268b81/talos/config/v1alpha1"
)

// security rejects security settings that this version does not implement yet: users rely on them. Other settings without effect
// are accepted with a warning.
func (c *check) security(main *v1alpha1.Config) {
	m, cl := &main.Machine, &main.Cluster

	for _, setting := range []struct {
		path, without string
		set           bool
	}{
		{"machine.systemDiskEncryption", "the disk would not be encrypted", m.Encryption.State != nil || m.Encryption.Ephemeral != nil},
		{"machine.network.kubespan.enabled", "traffic between machines would not be encrypted", v1alpha1.IsTrue(m.Network.KubeSpan.Enabled)},
		{"machine.seccompProfiles", "pods that name a profile would not have it", len(m.Seccomp) > 0},
		{
			"cluster.network.cni.flannel.kubeNetworkPoliciesEnabled", "network policies would not be enforced",
			!c.flannel && v1alpha1.IsTrue(cl.Network.CNI.Flannel.KubeNetworkPoliciesEnabled),
		},
	} {
		if setting.set {
			c.notYet(setting.path, setting.without)
		}
	}

	for _, host := range slices.Sorted(maps.Keys(m.Registries.Config)) {
		at, access := strict.Join("machine.registries.config", host), m.Registries.Config[host]

		if access.Auth != nil {
			c.notYet(at+".auth", "requests to the registry would have no credentials")
		}

		if access.TLS == nil {
			continue
		}

		if len(access.TLS.CA) > 0 {
			c.notYet(at+".tls.ca", "other authorities would verify the registry's certificate")
		}

		if access.TLS.ClientIdentity != nil {
			c.notYet(at+".tls.clientIdentity", "requests to the registry would have no certificate")
		}
	}
}

func (c *check) notYet(path, without string) {
	c.wrong(path, "not implemented in this version: %s; remove the setting", without)
}
