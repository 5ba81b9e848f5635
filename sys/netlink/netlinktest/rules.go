// SPDX-License-Identifier: Apache-2.0

package netlinktest

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/netlink"
)

// Rules implements netlink.Kernel.
func (k *Kernel) Rules() ([]netlink.Rule, error) {
	k.mu.Lock()
	defer k.mu.Unlock()

	return slices.Clone(k.rules), k.begin("Rules", nil)
}

// AddRule implements netlink.Kernel.
func (k *Kernel) AddRule(r netlink.Rule) error {
	return k.change("AddRule", r, func() error {
		if slices.ContainsFunc(k.rules, sameRule(r)) {
			return fmt.Errorf("add rule %s: %w", r, unix.EEXIST)
		}

		at := slices.IndexFunc(k.rules, func(o netlink.Rule) bool {
			return o.Family > r.Family || o.Family == r.Family && o.Priority > r.Priority
		})
		if at < 0 {
			at = len(k.rules)
		}

		k.rules = slices.Insert(k.rules, at, r)
		k.notify(netlink.WatchRules)

		return nil
	})
}

// DeleteRule implements netlink.Kernel.
func (k *Kernel) DeleteRule(r netlink.Rule) error {
	return k.change("DeleteRule", r, func() error {
		k.rules = slices.DeleteFunc(k.rules, sameRule(r))
		k.notify(netlink.WatchRules)

		return nil
	})
}

// sameRule compares all but the program that created a rule.
func sameRule(r netlink.Rule) func(netlink.Rule) bool {
	return func(o netlink.Rule) bool {
		o.Protocol = r.Protocol

		return o == r
	}
}
