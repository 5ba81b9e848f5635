// SPDX-License-Identifier: Apache-2.0

package dhcp6

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/sys/dhcp"
)

// script answers as the test says, and records the questions with their times.
type script struct {
	started time.Time
	log     []string
	answer  func(question string) (*Lease, error)
}

func (s *script) Ask(ctx context.Context, question dhcp.Question, _ *Lease, timeout time.Duration) (*Lease, error) {
	s.log = append(s.log, fmt.Sprintf("%s %s", time.Since(s.started).Round(time.Second), question))

	l, err := s.answer(string(question))
	if err != nil && !errors.Is(err, ErrRefused) {
		select { // no server answers in time
		case <-ctx.Done():
		case <-time.After(timeout):
		}
	}

	return l, err
}

func hour(last byte) *Lease {
	a := netip.MustParseAddr("2001:db8::").As16()
	a[15] = last

	return &Lease{Addresses: []netip.Addr{netip.AddrFrom16(a)}, Renew: 30 * time.Minute, Rebind: 48 * time.Minute, Expire: time.Hour}
}

var errSilence = errors.New("no response")

func TestClient(t *testing.T) {
	for _, tt := range []struct {
		name      string
		stateless bool
		answer    func(n int, question string) (*Lease, error)
		check     time.Duration
		until     time.Duration
		want      []string
		// published first addresses, with "!" while there is trouble.
		published []string
	}{
		{
			name:   "renews at T1",
			answer: func(int, string) (*Lease, error) { return hour(2), nil },
			until:  65 * time.Minute,
			want:   []string{"0s acquire", "30m0s renew", "1h0m0s renew"}, published: []string{"2001:db8::2", "2001:db8::2", "2001:db8::2"},
		},
		{
			name: "the server is down: rebinds, then expires, keeps it and starts again",
			answer: func(n int, question string) (*Lease, error) {
				if question == "acquire" && n < 3 {
					return hour(2), nil
				}

				return nil, errSilence
			},
			until: 60*time.Minute + 500*time.Millisecond,
			want: []string{
				"0s acquire", "30m0s renew", "39m5s renew", "43m38s renew", "45m54s renew", "47m2s renew", "47m36s renew", "47m53s renew",
				"48m3s rebind", "54m6s rebind", "57m8s rebind", "58m39s rebind", "59m25s rebind", "59m47s rebind", "1h0m0s acquire",
			},
			published: []string{"2001:db8::2", "2001:db8::2!"},
		},
		{
			name: "refused: keeps it and starts again at once",
			answer: func(n int, question string) (*Lease, error) {
				if question == "renew" {
					return nil, ErrRefused
				}

				return hour(byte(n)), nil
			},
			until: 31 * time.Minute,
			want:  []string{"0s acquire", "30m0s renew", "30m0s acquire"}, published: []string{"2001:db8::1", "2001:db8::1!", "2001:db8::3"},
		},
		{
			name: "asked when the link comes back, until it is answered",
			answer: func(n int, question string) (*Lease, error) {
				if question == "rebind" && n < 5 {
					return nil, errSilence
				}

				return hour(2), nil
			},
			check: 10 * time.Minute, until: 42 * time.Minute,
			want:      []string{"0s acquire", "10m0s rebind", "10m20s rebind", "10m50s rebind", "11m40s rebind", "41m40s renew"},
			published: []string{"2001:db8::2", "2001:db8::2", "2001:db8::2"},
		},
		{
			name: "for good", answer: func(int, string) (*Lease, error) { return &Lease{Addresses: hour(2).Addresses}, nil },
			check: 1000 * time.Hour, until: 2000 * time.Hour,
			want: []string{"0s acquire", "1000h0m0s rebind"}, published: []string{"2001:db8::2", "2001:db8::2"},
		},
		{
			name: "stateless: asks again when it is old", stateless: true,
			answer: func(int, string) (*Lease, error) {
				return &Lease{Addresses: hour(9).Addresses, Renew: time.Hour, Rebind: time.Hour, Expire: time.Hour}, nil
			},
			check: 90 * time.Minute, until: 100 * time.Minute,
			want: []string{"0s inform", "1h0m0s inform", "1h30m0s inform"}, published: []string{"2001:db8::9", "2001:db8::9", "2001:db8::9"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.until)
				defer cancel()

				n := 0
				s := &script{started: time.Now(), answer: func(q string) (*Lease, error) { n++; return tt.answer(n, q) }}
				check := make(chan struct{}, 1)

				if tt.check > 0 {
					time.AfterFunc(tt.check, func() { check <- struct{}{} })
				}

				var published []string

				c := &dhcp.Client[*Lease]{Protocol: dhcp.V6(tt.stateless), Ask: s.Ask}
				c.Check, c.Log = check, slog.New(slog.DiscardHandler)
				c.Publish = func(s dhcp.Status[*Lease]) {
					text := s.Lease.Addresses[0].String()
					if s.Trouble != nil {
						text += "!"
					}

					published = append(published, text)
				}
				c.Run(ctx)

				if diff := cmp.Diff(tt.want, s.log); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}

				if diff := cmp.Diff(tt.published, published); diff != "" {
					t.Errorf("published (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// No server answers: the client asks soon at first, finally about every two minutes; it publishes that once.
func TestClientBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Hour)
		defer cancel()

		told := 0
		s := &script{started: time.Now(), answer: func(string) (*Lease, error) { return nil, errSilence }}
		c := &dhcp.Client[*Lease]{Protocol: dhcp.V6(false), Ask: s.Ask}
		c.Log, c.Publish = slog.New(slog.DiscardHandler), func(s dhcp.Status[*Lease]) {
			if s.Lease != nil || s.Trouble == nil {
				t.Errorf("got %+v, want no lease and why", s)
			}

			told++
		}
		c.Run(ctx)

		if n := len(s.log); n < 280 || n > 340 || told != 1 {
			t.Errorf("asked %d times in ten hours and told %d times, want about 300 and 1", n, told)
		}
	})
}
