// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"strings"
	"testing"
)

func sealed(id, text string) *Opaque {
	r := NewOpaque(NewMetadata("n", "Texts.test.cosi.dev", id), RawSpec{YAML: text})
	r.Metadata().Seal()

	return r
}

func frameOf(t *testing.T, r Resource) []byte {
	t.Helper()

	b, err := WireFrame(r)
	if err != nil {
		t.Fatal(err)
	}

	return b
}

// TestEncodingsAreForgotten encodes far more than the limit.
func TestEncodingsAreForgotten(t *testing.T) {
	for _, tt := range []struct {
		name  string
		size  int
		count int
	}{
		{"many small ones", 10, 3 * recentCount},
		{"a few large ones", recentBytes / 10, 30},
		{"larger than all that is kept", recentBytes + 1, 3},
	} {
		text := strings.Repeat("x", tt.size)
		first, used := sealed("first", text), sealed("used", text)
		want := frameOf(t, first)

		frameOf(t, used)

		var last *Opaque

		for i := range tt.count {
			last = sealed(fmt.Sprint(i), text)
			made := frameOf(t, last)

			if again := frameOf(t, last); &again[0] != &made[0] {
				t.Errorf("%s: the newest is encoded again", tt.name)
			}

			if i%3 == 0 {
				frameOf(t, used)
			}
		}

		if first.encoded.Load() != nil {
			t.Errorf("%s: the encoding of the oldest is kept", tt.name)
		}

		if tt.size < recentBytes && used.encoded.Load() == nil {
			t.Errorf("%s: an encoding that is used all the time is not kept", tt.name)
		}

		if recent.count > recentCount || recent.count > 1 && recent.bytes > recentBytes {
			t.Errorf("%s: %d encodings of %d bytes are kept", tt.name, recent.count, recent.bytes)
		}

		if got := frameOf(t, first); string(got) != string(want) {
			t.Errorf("%s: encoded again, it differs", tt.name)
		}
	}
}
