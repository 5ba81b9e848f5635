// SPDX-License-Identifier: Apache-2.0

package netlink

import (
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/jsimonetti/rtnetlink/v2"
	"github.com/mdlayher/netlink"
	"github.com/mdlayher/netlink/nltest"
	"golang.org/x/sys/unix"
)

// A dump that changes interrupt is repeated; one that they interrupt each time is an error, not a part of the objects.
func TestInterruptedDump(t *testing.T) {
	for _, tt := range []struct {
		interrupted int
		want        error
	}{{0, nil}, {3, nil}, {dumpAttempts - 1, nil}, {dumpAttempts, ErrInterrupted}} {
		dumps := 0
		c := &Conn{raw: nltest.Dial(func(requests []netlink.Message) ([]netlink.Message, error) {
			asked := requests[0].Header

			m := netlink.Message{Header: netlink.Header{Type: unix.RTM_NEWLINK, Sequence: asked.Sequence, PID: asked.PID}, Data: []byte("link")}
			if dumps++; dumps <= tt.interrupted {
				m.Header.Flags = unix.NLM_F_DUMP_INTR
			}

			return []netlink.Message{m}, nil
		})}

		got, err := c.dump(&rtnetlink.LinkMessage{}, unix.RTM_GETLINK)
		if !errors.Is(err, tt.want) || (err == nil) != (len(got) == 1) {
			t.Errorf("%d interrupted dumps: got %d objects and %v, want %v", tt.interrupted, len(got), err, tt.want)
		}

		if want := min(tt.interrupted+1, dumpAttempts); dumps != want {
			t.Errorf("%d interrupted dumps: got %d dumps, want %d", tt.interrupted, dumps, want)
		}
	}
}

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
