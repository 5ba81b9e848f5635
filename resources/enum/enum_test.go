// SPDX-License-Identifier: Apache-2.0

package enum_test

import (
	"testing"

	"github.com/seed-59268b81/talos/resources/enum"
)

type colour int32

var colours = enum.Of[colour]("red", "green", "Blue")

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		v    colour
		text string
	}{{0, "red"}, {2, "Blue"}, {3, "3"}, {-1, "-1"}} {
		if got := colours.Text(tt.v); got != tt.text {
			t.Errorf("%d: got %q, want %q", int32(tt.v), got, tt.text)
		}

		var got colour
		if err := colours.Parse("colour", []byte(tt.text), &got); err != nil || got != tt.v {
			t.Errorf("%q: got %d, %v; want %d", tt.text, int32(got), err, int32(tt.v))
		}
	}

	got := colour(1)
	if err := colours.Parse("colour", []byte("RED"), &got); err != nil || got != 0 {
		t.Errorf("another case: got %d, %v; want 0", int32(got), err)
	}
}

func TestParseErrors(t *testing.T) {
	for _, text := range []string{"", "pink", "4294967296"} {
		got := colour(1)

		err := colours.Parse("colour", []byte(text), &got)
		if want := `unknown colour "` + text + `": want one of Blue, green, red`; err == nil || err.Error() != want || got != 1 {
			t.Errorf("got %d, %v; want %s and no change", int32(got), err, want)
		}
	}
}
