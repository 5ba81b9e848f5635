// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"path/filepath"

	"github.com/seed-59268b81/talos/config/v1alpha1"
)

func (c *check) kubelet(k *v1alpha1.KubeletConfig) {
	c.image("machine.kubelet.image", k.Image)
	c.subnets("machine.kubelet.nodeIP.validSubnets", k.NodeIP.ValidSubnets)

	for i, mount := range k.ExtraMounts {
		if !filepath.IsAbs(mount.Destination) {
			c.wrong(index("machine.kubelet.extraMounts", i)+".destination", "%q is not an absolute path", mount.Destination)
		}
	}
}
