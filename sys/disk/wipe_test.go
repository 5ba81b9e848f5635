// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// TestWhenIdle: a change waits for a device that is busy for a moment, and not for one that stays busy.
func TestWhenIdle(t *testing.T) {
	for _, tt := range []struct {
		name  string
		busy  int
		after error
		want  error
		took  time.Duration
	}{
		{"at once", 0, nil, nil, 0},
		{"after a moment", 3, nil, nil, 3 * idlePause},
		{"another error", 1, unix.ENXIO, unix.ENXIO, idlePause},
		{"in use", 1000, nil, unix.EBUSY, idleTries * idlePause},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, tries := time.Now(), 0

				err := whenIdle(func() error {
					if tries++; tries <= tt.busy {
						return unix.EBUSY
					}

					return tt.after
				})
				if !errors.Is(err, tt.want) || time.Since(start) != tt.took {
					t.Errorf("got %v after %s, want %v after %s", err, time.Since(start), tt.want, tt.took)
				}
			})
		})
	}
}
