// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/test/cluster"
)

const udevRule = `apiVersion: v1alpha1
kind: UdevRulesConfig
rules:
  - KERNEL=="null", SYMLINK+="talos-e2e"
`

// devices waits until udevd has handled the devices of the machine, and follows a rule of the configuration.
func devices(t *testing.T, c *cluster.Cluster) {
	c.Until("udevd has handled all devices", time.Minute, func(ctx context.Context) error {
		var status struct {
			Ready bool `yaml:"ready"`
		}

		if _, err := c.Resource(ctx, "runtime", "DevicesStatuses.runtime.talos.dev", "devices", &status); err != nil || !status.Ready {
			return errors.Join(err, fmt.Errorf("ready: %t", status.Ready))
		}

		return nil
	})

	for folder, link := range map[string]string{
		"by-partlabel": "EPHEMERAL", "by-id": "virtio-", "by-path": "pci-", "by-uuid": "-", "by-partuuid": "-",
	} {
		if links := c.Talosctl("list", "/dev/disk/"+folder); !strings.Contains(links, link) {
			c.Fail("/dev/disk/%s has no link with %q: %s", folder, link, links)
		}
	}

	for _, step := range []struct {
		goal string
		text []byte
		want bool
	}{
		{"udevd follows a rule of the configuration", patched(t, c, udevRule), true},
		{"udevd does not follow the rule any more", c.Generated.ControlPlane, false},
	} {
		c.Apply(step.text)
		c.Until(step.goal, time.Minute, func(context.Context) error {
			if got := strings.Contains(c.Talosctl("list", "/dev"), "talos-e2e"); got != step.want {
				return fmt.Errorf("/dev/talos-e2e is there: %t", got)
			}

			return nil
		})
	}
}
