// SPDX-License-Identifier: Apache-2.0

package clusterstate

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/resources/config"
)

// facts decide whether this machine has the store.
type facts struct {
	configured    bool
	machineType   config.MachineType
	controlPlanes []netip.Addr

	credentials bool // those of etcd's administrator
	runs        bool // the local etcd
	healthy     bool
}

// step is what happens to the store.
type step int

const (
	stepClose step = iota // for the reason
	stepWait              // an open store stays open, and follows etcd when that is back; else as stepClose
	stepOpen
)

// plan decides what happens to the store, and why the machine does not serve it.
func plan(f facts) (step, refusal) {
	switch {
	case !f.configured:
		return stepClose, refusal{state.Unavailable, "the machine has no configuration yet"}
	case !f.machineType.IsControlPlane():
		return stepClose, refusal{state.Unsupported, "a worker does not serve the namespace, ask a control plane" + named(f.controlPlanes)}
	case !f.credentials || !f.runs:
		return stepClose, refusal{state.Unavailable, "etcd of this control plane does not run (talosctl service etcd)"}
	case !f.healthy:
		return stepWait, refusal{state.Unavailable, "etcd of this control plane is not healthy (talosctl service etcd)"}
	default:
		return stepOpen, refusal{state.Unavailable, "the store is about to be opened"}
	}
}

// named returns the addresses of control planes as a part of a sentence, and the option that asks the first one.
func named(addresses []netip.Addr) string {
	if len(addresses) == 0 {
		return ""
	}

	slices.SortFunc(addresses, netip.Addr.Compare)

	var texts []string
	for _, a := range slices.Compact(addresses) {
		texts = append(texts, a.String())
	}

	return fmt.Sprintf(": %s (talosctl --nodes %s)", strings.Join(texts, ", "), texts[0])
}
