// SPDX-License-Identifier: Apache-2.0

package netlink

import "time"

// Hold is for a caller that makes several changes: until release, or for a second, watchers are not called, because each would read the
// kernel again after each change; a call that is already delayed is not held. If release is told that the kernel has changed, they are called
// without the pause of a flood, at most four times a second.
func (o *Observer) Hold() (release func(changed bool)) {
	o.mu.Lock()
	o.holds++
	o.mu.Unlock()

	return func(changed bool) {
		o.mu.Lock()
		defer o.mu.Unlock()

		o.holds--
		o.owed = o.owed || changed

		if o.holds == 0 {
			o.callHeld()
		}
	}
}

// callHeld calls the watchers, or plans that for earlier than before, after the last hold has ended. The lock is held.
func (o *Observer) callHeld() {
	now, at, owed := time.Now(), o.rest, o.owed
	o.owed = false

	if o.timer == nil || o.early.After(now) { // there is nothing to tell, or an early call is planned
		return
	}

	soon := o.early.Add(between)
	if soon.Before(now) {
		soon = now
	}

	if owed && soon.Before(at) {
		at, o.early = soon, soon
	}

	switch {
	case !o.timer.Stop(): // they are being called
	case at.After(now):
		o.timer.Reset(at.Sub(now))
	default:
		o.timer = nil
		o.callWatchers()
	}
}
