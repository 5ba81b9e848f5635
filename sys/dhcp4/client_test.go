// SPDX-License-Identifier: Apache-2.0

package dhcp4

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

func hour(address string) *Lease {
	return &Lease{Address: netip.MustParsePrefix(address), Renew: 30 * time.Minute, Rebind: 52*time.Minute + 30*time.Second, Expire: time.Hour}
}

var errSilence = errors.New("no response")

func TestClient(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(n int, question string) (*Lease, error)
		check  time.Duration
		until  time.Duration
		want   []string
		// published addresses, with "!" while there is trouble.
		published []string
	}{
		{
			name:   "renews at half of the time",
			answer: func(int, string) (*Lease, error) { return hour("10.0.0.2/24"), nil },
			until:  95 * time.Minute,
			want:   []string{"0s acquire", "30m0s renew", "1h0m0s renew", "1h30m0s renew"}, published: []string{"10.0.0.2/24", "10.0.0.2/24", "10.0.0.2/24", "10.0.0.2/24"},
		},
		{
			name: "the server is down: rebinds, then expires, keeps it and starts again",
			answer: func(n int, question string) (*Lease, error) {
				if question == "acquire" && n < 20 {
					return hour("10.0.0.2/24"), nil
				}

				return nil, errSilence
			},
			until: 60*time.Minute + 2*time.Second,
			want: []string{
				"0s acquire", "30m0s renew", "41m17s renew", "46m56s renew", "49m45s renew", "51m9s renew", "51m52s renew", "52m13s renew", "52m23s renew",
				"52m30s rebind", "56m17s rebind", "58m11s rebind", "59m7s rebind", "59m36s rebind", "59m50s rebind", "59m59s rebind", "1h0m0s acquire",
			},
			published: []string{"10.0.0.2/24", "10.0.0.2/24!", "10.0.0.2/24"},
		},
		{
			name: "refused: keeps it and starts again at once",
			answer: func(n int, question string) (*Lease, error) {
				if question == "renew" {
					return nil, ErrRefused
				}

				return hour(fmt.Sprintf("10.0.0.%d/24", n)), nil
			},
			until: 31 * time.Minute,
			want:  []string{"0s acquire", "30m0s renew", "30m0s acquire"}, published: []string{"10.0.0.1/24", "10.0.0.1/24!", "10.0.0.3/24"},
		},
		{
			name:   "checked when the link comes back",
			answer: func(int, string) (*Lease, error) { return hour("10.0.0.2/24"), nil },
			check:  10 * time.Minute, until: 41 * time.Minute,
			want: []string{"0s acquire", "10m0s verify", "40m0s renew"}, published: []string{"10.0.0.2/24", "10.0.0.2/24", "10.0.0.2/24"},
		},
		{
			name: "the check is asked again until it is answered",
			answer: func(n int, question string) (*Lease, error) {
				if question == "verify" && n < 6 {
					return nil, errSilence
				}

				return hour(fmt.Sprintf("10.0.0.%d/24", n)), nil
			},
			check: 10 * time.Minute, until: 42 * time.Minute,
			want:      []string{"0s acquire", "10m0s verify", "10m4s verify", "10m12s verify", "10m28s verify", "11m0s verify", "41m0s renew"},
			published: []string{"10.0.0.1/24", "10.0.0.6/24", "10.0.0.7/24"},
		},
		{
			name: "the check is never answered: the lease stays, and is renewed in its time",
			answer: func(_ int, question string) (*Lease, error) {
				if question == "verify" {
					return nil, errSilence
				}

				return hour("10.0.0.2/24"), nil
			},
			check: 27 * time.Minute, until: 31 * time.Minute,
			want:      []string{"0s acquire", "27m0s verify", "27m4s verify", "27m12s verify", "27m28s verify", "28m0s verify", "29m4s verify", "30m0s rebind"},
			published: []string{"10.0.0.2/24", "10.0.0.2/24"},
		},
		{
			name: "checked while it is renewed: all servers are asked, again until one answers",
			answer: func(n int, question string) (*Lease, error) {
				if question == "renew" || n < 5 && n > 1 {
					return nil, errSilence
				}

				return hour(fmt.Sprintf("10.0.0.%d/24", n)), nil
			},
			check: 35 * time.Minute, until: 36 * time.Minute,
			want:      []string{"0s acquire", "30m0s renew", "35m0s rebind", "35m4s rebind", "35m12s rebind"},
			published: []string{"10.0.0.1/24", "10.0.0.5/24"},
		},
		{
			name: "an infinite lease is checked only",
			answer: func(int, string) (*Lease, error) {
				return &Lease{Address: netip.MustParsePrefix("10.0.0.2/24")}, nil
			},
			check: 1000 * time.Hour, until: 2000 * time.Hour,
			want: []string{"0s acquire", "1000h0m0s verify"}, published: []string{"10.0.0.2/24", "10.0.0.2/24"},
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

				c := &dhcp.Client[*Lease]{Protocol: dhcp.V4(), Ask: s.Ask}
				c.Check, c.Log, c.Spread = check, slog.New(slog.DiscardHandler), func(d time.Duration) time.Duration { return d }
				c.Publish = func(s dhcp.Status[*Lease]) {
					text := s.Lease.Address.String()
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

// A machine that boots before its server asks again soon, then less and less often, finally about once a minute.
func TestClientBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()

		told := 0
		s := &script{started: time.Now(), answer: func(string) (*Lease, error) { return nil, errSilence }}
		c := &dhcp.Client[*Lease]{Protocol: dhcp.V4(), Ask: s.Ask}
		c.Log, c.Publish = slog.New(slog.DiscardHandler), func(s dhcp.Status[*Lease]) {
			if s.Lease != nil || s.Trouble == nil {
				t.Errorf("got %+v, want no lease and why", s)
			}

			told++
		}
		c.Run(ctx)

		if n := len(s.log); n < 45 || n > 75 {
			t.Errorf("asked %d times in an hour, want about 60", n)
		}

		if told != 1 {
			t.Errorf("silence was published %d times, want once", told)
		}

		early := 0

		for _, entry := range s.log {
			if d, err := time.ParseDuration(entry[:len(entry)-len(" acquire")]); err == nil && d < 10*time.Second {
				early++
			}
		}

		if early < 4 {
			t.Errorf("asked %d times in the first ten seconds, want at least 4: %v", early, s.log)
		}
	})
}
