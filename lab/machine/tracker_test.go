// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTracker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			reported []Status
			track    *Tracker
		)

		begin := time.Now()
		track = NewTracker(slog.New(slog.DiscardHandler), func(s Status) {
			reported = append(reported, s)

			if got := track.Status(); got != s { // the callback may read the status
				t.Errorf("got %+v in the callback for %+v", got, s)
			}
		})

		if d := cmp.Diff(Status{Power: Off, Why: "never switched on", Since: begin}, track.Status()); d != "" {
			t.Errorf("at first (-want +got):\n%s", d)
		}

		time.Sleep(time.Minute)
		track.Update(func(s *Status) { s.Power, s.Why, s.PID, s.Boots = On, "switched on", 7, s.Boots+1 })

		want := Status{Power: On, Why: "switched on", Since: begin.Add(time.Minute), Boots: 1, PID: 7}
		if d := cmp.Diff([]Status{want}, reported); d != "" {
			t.Errorf("reported (-want +got):\n%s", d)
		}
	})
}
