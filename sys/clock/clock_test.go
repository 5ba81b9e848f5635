// SPDX-License-Identifier: Apache-2.0

//go:build linux

package clock

import "testing"

func TestWords(t *testing.T) {
	for _, tt := range []struct {
		status int32
		want   string
	}{{0, ""}, {0x2001, "STA_PLL | STA_NANO"}, {0x0040, "STA_UNSYNC"}, {0x8000, "STA_CLK"}} {
		if got := statusText(tt.status); got != tt.want {
			t.Errorf("status %#x: got %q, want %q", tt.status, got, tt.want)
		}
	}

	for state, want := range map[int]string{0: "TIME_OK", 5: "TIME_ERROR", 9: "9", -1: "-1"} {
		if got := leapText(state); got != want {
			t.Errorf("state %d: got %q, want %q", state, got, want)
		}
	}
}

// Reading needs no right and changes nothing.
func TestRead(t *testing.T) {
	s, err := Read()
	if err != nil {
		t.Fatal(err)
	}

	if s.FrequencyPPM < -600 || s.FrequencyPPM > 600 || s.Leap == "" {
		t.Errorf("got %+v: the kernel allows 500 ppm", s)
	}
}
