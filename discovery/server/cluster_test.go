// SPDX-License-Identifier: Apache-2.0

package server

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
	"github.com/seed-59268b81/talos/discovery/extension"
)

func refresh(id string, ttl time.Duration) *serverapi.AffiliateUpdateRequest {
	return &serverapi.AffiliateUpdateRequest{ClusterId: "c", AffiliateId: id, AffiliateData: []byte("1"), Ttl: durationpb.New(ttl)}
}

// TestClusterAgain: a place in a cluster that was removed is not one in the cluster that follows it.
func TestClusterAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{}, slog.New(slog.DiscardHandler))

		update := func(ids ...string) (last uint64) {
			c, done := s.clusters.hold("c")
			defer done()

			for _, id := range ids {
				if err := c.update(time.Now(), refresh(id, time.Minute)); err != nil {
					t.Fatal(err)
				}
			}

			return c.log.Sequence()
		}

		place := extension.Place{Boot: s.boot, Sequence: update("a")}

		for range 20 {
			time.Sleep(time.Minute)
			s.clusters.sweep(time.Now(), true)
		}

		if n := s.Counts(); n.Clusters != 0 || s.clusters.entries.Load() != 0 {
			t.Fatalf("the cluster stays: %+v, %d entries", n, s.clusters.entries.Load())
		}

		update("b", "c", "d")

		c, done := s.clusters.hold("c")
		defer done()

		_, got := c.first(s.boot, request{ours: true, place: place})

		members := 0

		for _, raw := range got.Messages {
			m, err := extension.DecodeResponse(raw)
			if err != nil {
				t.Fatal(err)
			}

			members += len(m.Members)
		}

		if members != 3 {
			t.Errorf("a client of the cluster before receives %d members, want all 3", members)
		}
	})
}

// TestExpiryIsTold: the watchers are told that a member has expired, also when another caller has found it.
func TestExpiryIsTold(t *testing.T) {
	for name, find := range map[string]func(s *Server, c *cluster){
		"list":            func(s *Server, _ *cluster) { s.Members("c") },
		"snapshot file":   func(s *Server, _ *cluster) { s.Save(t.TempDir() + "/state") },
		"another watcher": func(s *Server, c *cluster) { c.first(s.boot, request{ours: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Options{}, slog.New(slog.DiscardHandler))

				c, done := s.clusters.hold("c")
				defer done()

				c.watch(+1)
				defer c.watch(-1)

				if err := c.update(time.Now(), refresh("a", time.Minute)); err != nil {
					t.Fatal(err)
				}

				time.Sleep(2 * time.Minute)

				_, wake, _ := c.since(c.log.Sequence())

				find(s, c)
				time.Sleep(maxWindow)

				select {
				case <-wake:
				default:
					t.Error("the watchers were not told")
				}
			})
		})
	}
}

// TestRemovalsCount: members that come and go at once do not fill the memory.
func TestRemovalsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{MaxAffiliates: 50}, slog.New(slog.DiscardHandler))

		refused := 0

		for i := range 1000 {
			in := refresh("a", -time.Second)
			in.ClusterId = string(rune('a' + i))

			if _, err := s.AffiliateUpdate(t.Context(), in); err != nil {
				refused++
			}

			s.clusters.sweep(time.Now(), true)
		}

		if n := s.Counts(); n.Clusters > 100 || refused != 900 {
			t.Errorf("%d were refused, and there are %d clusters, want 100", refused, n.Clusters)
		}

		time.Sleep(time.Hour)
		s.clusters.sweep(time.Now(), true)

		if _, err := s.AffiliateUpdate(t.Context(), refresh("a", time.Minute)); err != nil {
			t.Error(err)
		}
	})
}
