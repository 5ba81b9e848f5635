// SPDX-License-Identifier: Apache-2.0

package kmsg_test

import (
	"testing"
	"time"

	"github.com/seed-59268b81/talos/sys/kmsg"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, record, want string
		fails              bool
	}{
		{"kernel", "6,339,5140900,-;NET: Registered protocol family 10\n SUBSYSTEM=net\n", "kern:    info: [1970-01-01T00:00:05.1409Z]: NET: Registered protocol family 10", false},
		{"user", "12,1,1000000,-;[talos] service", "user: warning: [1970-01-01T00:00:01Z]: [talos] service", false},
		{"unknown facility", "804,1,0,-;x", "100: warning: [1970-01-01T00:00:00Z]: x", false},
		{"a configuration", "5,0,0,-;Kernel command line: quiet talos.config.inline=c2VjcmV0 panic=10", "kern:  notice: [1970-01-01T00:00:00Z]: Kernel command line: quiet talos.config.inline=(redacted) panic=10", false},
		{"no prefix", "hello", "", true},
		{"short prefix", "6,1;hello", "", true},
		{"bad priority", "x,1,2,-;hello", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := kmsg.Parse([]byte(tt.record))
			if (err != nil) != tt.fails {
				t.Fatalf("error: got %v, want one: %v", err, tt.fails)
			}

			if err == nil && m.Format(time.Unix(0, 0)) != tt.want {
				t.Errorf("got %q, want %q", m.Format(time.Unix(0, 0)), tt.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("6,339,5140900,-;NET\n SUBSYSTEM=net\n"))
	f.Add([]byte("4294967295,18446744073709551615,9223372036854775807,-;"))
	f.Fuzz(func(t *testing.T, record []byte) {
		if m, err := kmsg.Parse(record); err == nil && m.Format(time.Unix(0, 0)) == "" {
			t.Error("a parsed record formats to nothing")
		}
	})
}
