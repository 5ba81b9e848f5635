// SPDX-License-Identifier: Apache-2.0

//go:build linux

package clock

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

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

// Reading needs no permission and changes nothing.
func TestRead(t *testing.T) {
	s, err := Read()
	if err != nil {
		t.Fatal(err)
	}

	if s.FrequencyPPM < -600 || s.FrequencyPPM > 600 || s.Leap == "" {
		t.Errorf("got %+v: the kernel allows 500 ppm", s)
	}
}

func TestRTCTime(t *testing.T) {
	at := time.Date(2026, time.March, 1, 23, 59, 58, 0, time.FixedZone("", 3600))
	if got, want := rtcTime(at), (unix.RTCTime{Sec: 58, Min: 59, Hour: 22, Mday: 1, Mon: 2, Year: 126}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
