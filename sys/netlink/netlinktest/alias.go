// SPDX-License-Identifier: Apache-2.0

package netlinktest

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlink"
)

// SetAlias implements netlink.Kernel.
func (k *Kernel) SetAlias(index uint32, old, name string) error {
	return k.change("SetAlias", fmt.Sprintf("%d %s", index, name), func() error {
		l, ok := k.link(index)
		if !ok {
			return fmt.Errorf("alias %s of link %d: %w", name, index, unix.ENODEV)
		}

		if name != "" && name != old && slices.ContainsFunc(k.links, func(o netlink.Link) bool { return o.Named(name) }) {
			return fmt.Errorf("alternative name %s of link %d: %w", name, index, unix.EEXIST)
		}

		l.AltNames = slices.DeleteFunc(slices.Clone(l.AltNames), func(n string) bool { return n == old && n != "" || n == name })
		if name != "" {
			l.AltNames = append(l.AltNames, name)
		}

		l.Alias = name
		k.notify(netlink.WatchLinks)

		return nil
	})
}
