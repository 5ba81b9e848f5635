// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"os"
	"reflect"
	"testing"

	"github.com/jsimonetti/rtnetlink/v2"
	"golang.org/x/sys/unix"
)

// A link is read with all fields of a Link, and without IPv6's counters.
func TestLinksWithoutCounters(t *testing.T) {
	c, err := Open()
	if err != nil {
		t.Fatal(err)
	}

	defer c.Close()

	plain, err := c.dump(&rtnetlink.LinkMessage{}, unix.RTM_GETLINK)
	if err != nil {
		t.Fatal(err)
	}

	lean, err := c.dump(allLinks{}, unix.RTM_GETLINK)
	if err != nil {
		t.Fatal(err)
	}

	if len(plain) == 0 || len(plain) != len(lean) {
		t.Fatalf("got %d links, want %d and the loopback at least", len(lean), len(plain))
	}

	want, err := decodeLink(plain[0].Data)
	if err != nil {
		t.Fatal(err)
	}

	got, err := decodeLink(lean[0].Data)
	if err != nil {
		t.Fatal(err)
	}

	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}

	if _, err := os.Stat("/proc/net/if_inet6"); err == nil && len(lean[0].Data) > len(plain[0].Data)-200 {
		t.Errorf("got %d bytes, want 200 less than %d", len(lean[0].Data), len(plain[0].Data))
	}

	t.Logf("a link takes %d bytes, and %d with all counters", len(lean[0].Data), len(plain[0].Data))
}
