// SPDX-License-Identifier: Apache-2.0

//go:build linux

package yardstick

import "testing"

func TestSlowness(t *testing.T) {
	if got := Slowness(t); got < 1 || got > 100 {
		t.Errorf("got %f", got)
	}
}
