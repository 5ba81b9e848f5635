// SPDX-License-Identifier: Apache-2.0

//go:build linux

package machine

import (
	"context"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/machine/boot"
	"github.com/seed-59268b81/talos/resources/definition"
	"github.com/seed-59268b81/talos/service/bootlog"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/watchdog"
)

var pulseDefinition = definition.Domain{Group: "runtime.talos.dev", Namespace: "pulse"}.Type("Pulses")

// pulseSpec is written for the watchdog to show that the state works. Its type is not registered, so that clients do not see it.
type pulseSpec struct {
	Beat uint64 `yaml:"beat" protobuf:"1"`
}

// Definition implements resource.Spec.
func (pulseSpec) Definition() *resource.Definition { return pulseDefinition }

const pulseID = "machined"

// pulse shows that process 1 works: what is written to the state comes back as an event, and the supervisor of services answers. It is not
// safe for concurrent use.
type pulse struct {
	life   context.Context // of the watch: as long as the machine runs
	state  state.State
	answer func() // returns when the supervisor has answered

	events chan typed.Event[pulseSpec]
	beat   uint64
}

// works returns nil when process 1 works. It does not return while it hangs.
func (p *pulse) works(ctx context.Context) error {
	if p.events == nil {
		events := make(chan typed.Event[pulseSpec], 1)

		if err := typed.Watch(p.life, p.state, "", pulseID, events); err != nil {
			return fmt.Errorf("watch the state: %w", err)
		}

		p.events = events
	}

	p.beat++

	if err := typed.Set(ctx, p.state, "", pulseID, pulseSpec{Beat: p.beat}); err != nil {
		return fmt.Errorf("write to the state: %w", err)
	}

	for seen := uint64(0); seen < p.beat; {
		select {
		case e := <-p.events:
			if e.Type == state.Errored {
				p.events = nil

				return fmt.Errorf("watch the state: %w", e.Error)
			}

			if e.Resource != nil {
				seen = e.Resource.TypedSpec().Beat
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}

	p.answer()

	return nil
}

// defaultWatchdog returns the watchdog that runs when none is configured, which the initramfs has started.
func (m *Machine) defaultWatchdog() string {
	if !m.Platform.Owns(platform.CrashEvidence) || !boot.WantsWatchdog(m.args) {
		return ""
	}

	return watchdog.Find("/sys")
}

// lastEnd returns why the last boot ended, if the hardware or the firmware kept it, and whether that can be read already.
func (m *Machine) lastEnd() (string, bool) {
	if !m.Platform.Owns(platform.CrashEvidence) {
		return "", true
	}

	if why := bootlog.Gather("/").Reason(); why != bootlog.Unexplained {
		return why, true
	}

	return "", bootlog.Readable("/")
}
