// SPDX-License-Identifier: Apache-2.0

//go:build linux

package power

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestFlush(t *testing.T) {
	for _, tt := range []struct {
		name  string
		takes time.Duration
		want  error
		after time.Duration
	}{
		{"nothing to write", 0, nil, 0},
		{"a slow disk", 9 * time.Second, nil, 9 * time.Second},
		{"a dead disk", 24 * time.Hour, ErrFlush, flushTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()

				err := flush(func() { time.Sleep(tt.takes) }, flushTime)
				if got := time.Since(start); !errors.Is(err, tt.want) || got != tt.after {
					t.Errorf("got %v after %s, want %v after %s", err, got, tt.want, tt.after)
				}

				time.Sleep(tt.takes) // the disk ends with the test
			})
		})
	}
}
