// SPDX-License-Identifier: Apache-2.0

package secrets

import "time"

// recheck bounds how long a certificate is trusted to be fresh without looking at the clock: timers count elapsed time,
// and the clock may drift away from it. A step of the clock wakes the controllers by itself.
const recheck = 6 * time.Hour

// renewal wakes a controller when a certificate is due. A timer that outlives its controller's run only causes
// one reconcile more.
type renewal struct{ timer *time.Timer }

// at plans the next wake-up, replacing the one before.
func (r *renewal) at(due, now time.Time, wake func()) {
	if r.timer != nil {
		r.timer.Stop()
	}

	r.timer = time.AfterFunc(min(max(due.Sub(now), time.Second), recheck), wake)
}
