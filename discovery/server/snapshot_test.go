// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"

	serverapi "github.com/seed-59268b81/talos/api/discovery/server"
)

func silent() *Server { return New(Options{}, slog.New(slog.DiscardHandler)) }

func fill(t testing.TB, s *Server) {
	t.Helper()

	for cluster, ids := range map[string][]string{"c1": {"a", "b"}, "c2": {"a"}} {
		for _, id := range ids {
			if _, err := s.AffiliateUpdate(t.Context(), &serverapi.AffiliateUpdateRequest{
				ClusterId: cluster, AffiliateId: id, AffiliateData: []byte("data of " + id), AffiliateEndpoints: [][]byte{{1}, {2}},
				Ttl: durationpb.New(10 * time.Minute),
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "state.binpb")

	saved := silent()
	fill(t, saved)

	want := SnapshotCounts{Clusters: 2, Affiliates: 3, Endpoints: 6}

	got, err := saved.Save(path)
	if err != nil {
		t.Fatal(err)
	}

	if got.Bytes = 0; got != want {
		t.Errorf("saved %+v, want %+v", got, want)
	}

	loaded := silent()

	got, err = loaded.Load(path)
	if err != nil {
		t.Fatal(err)
	}

	if got.Bytes = 0; got != want {
		t.Errorf("loaded %+v, want %+v", got, want)
	}

	members := loaded.Members("c1")
	if len(members) != 2 {
		t.Fatalf("cluster c1 has %d members, want 2", len(members))
	}

	for _, m := range members {
		if string(m.Data) != "data of "+m.ID || m.TTL < 9*time.Minute || m.TTL > 10*time.Minute+time.Second || len(m.Endpoints) != 2 {
			t.Errorf("loaded %+v", m)
		}
	}

	// A service that has nothing forgets what it had.
	if _, err := silent().Save(path); err != nil {
		t.Fatal(err)
	}

	if n, err := silent().Load(path); err != nil || n != (SnapshotCounts{}) {
		t.Errorf("an empty snapshot has %+v, %v", n, err)
	}

	if n, err := silent().Load(path + ".absent"); err != nil || n != (SnapshotCounts{}) {
		t.Errorf("an absent snapshot has %+v, %v", n, err)
	}
}

// TestSnapshotWhole checks that a snapshot that cannot be written leaves the one before.
func TestSnapshotWhole(t *testing.T) {
	if os.Getuid() == 0 {
		// Root may write everywhere, so the folder is in the way.
		path := filepath.Join(t.TempDir(), "state.binpb")
		if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
			t.Fatal(err)
		}

		s := silent()
		fill(t, s)

		if _, err := s.Save(path); err == nil {
			t.Error("a folder was replaced")
		}

		left, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(left) != 1 {
			t.Errorf("%v, %v: want the folder only", left, err)
		}
	}

	if _, err := silent().Load(t.TempDir()); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("loading a folder: %v", err)
	}
}

// TestForeignSnapshot reads a file as existing services write it: one with expirations only, one with both.
func TestForeignSnapshot(t *testing.T) {
	for name, raw := range map[string]string{
		// cluster c, affiliate a, data x, ttl 60 s, which becomes the time that a machine has to come back, expiration 1 s after 1970, endpoint 0102 with ttl 60 s.
		"relative": "0a1d" + "0a0163" + "1218" + "0a0161" + "12020801" + "1a0178" + "2208" + "12020102" + "1a02083c" + "2a02083c",
	} {
		b, err := hex.DecodeString(raw)
		if err != nil {
			t.Fatal(err)
		}

		s := silent()

		if _, err := s.read(bufio.NewReader(bytes.NewReader(b)), 0); err != nil {
			t.Errorf("%s: %v", name, err)

			continue
		}

		all := s.Members("c")
		if len(all) != 1 || string(all[0].Data) != "x" || all[0].TTL.Round(time.Second) != returnTime || len(all[0].Endpoints) != 1 {
			t.Errorf("%s: %+v", name, all)
		}
	}

	// An expiration in the past only: the member is gone.
	b, _ := hex.DecodeString("0a0f" + "0a0163" + "120a" + "0a0161" + "12020801" + "1a0178")

	s := silent()

	if _, err := s.read(bufio.NewReader(bytes.NewReader(b)), 0); err != nil || len(s.Members("c")) != 0 {
		t.Errorf("expired: %v, %v", s.Members("c"), err)
	}
}

// TestOldSnapshot: what has expired while the service was away does not come back, and a machine that may have refreshed itself after the file
// was written is not forgotten before it can say so.
func TestOldSnapshot(t *testing.T) {
	for name, tt := range map[string]struct {
		// The machine announces itself with ttl, the file is written saved later, and read away later.
		ttl, saved, away time.Duration
		// The member stays for as long after that.
		stays time.Duration
	}{
		"soon":                      {30 * time.Minute, time.Minute, time.Second, 29*time.Minute - time.Second},
		"after a while":             {30 * time.Minute, time.Minute, 20 * time.Minute, 9 * time.Minute},
		"nearly expired":            {30 * time.Minute, 29*time.Minute + 50*time.Second, time.Second, returnTime},
		"it expired":                {30 * time.Minute, time.Minute, 29 * time.Minute, 0},
		"it expired long ago":       {30 * time.Minute, time.Minute, 24 * time.Hour, 0},
		"the clock was set back":    {30 * time.Minute, time.Minute, -time.Hour, 29 * time.Minute},
		"a machine that comes soon": {time.Minute, 50 * time.Second, time.Second, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.binpb")

			synctest.Test(t, func(t *testing.T) {
				before := silent()

				if _, err := before.AffiliateUpdate(t.Context(), &serverapi.AffiliateUpdateRequest{
					ClusterId: "c", AffiliateId: "a", AffiliateData: []byte("x"), AffiliateEndpoints: [][]byte{{1}}, Ttl: durationpb.New(tt.ttl),
				}); err != nil {
					t.Fatal(err)
				}

				time.Sleep(tt.saved)

				if _, err := before.Save(path); err != nil {
					t.Fatal(err)
				}

				if err := os.Chtimes(path, time.Time{}, time.Now().Add(-tt.away)); err != nil {
					t.Fatal(err)
				}

				s := silent()

				if _, err := s.Load(path); err != nil {
					t.Fatal(err)
				}

				var got time.Duration
				if all := s.Members("c"); len(all) > 0 {
					if got = all[0].TTL; len(all[0].Endpoints) != 1 {
						t.Errorf("endpoints: got %+v", all[0].Endpoints)
					}
				}

				if got != tt.stays {
					t.Errorf("got a member that stays for %s, want %s", got, tt.stays)
				}
			})
		})
	}
}

// FuzzSnapshot loads files of any content. What is loaded can be saved and loaded again.
func FuzzSnapshot(f *testing.F) {
	s := silent()

	for _, id := range []string{"a", "b"} {
		s.AffiliateUpdate(f.Context(), &serverapi.AffiliateUpdateRequest{
			ClusterId: "c", AffiliateId: id, AffiliateData: []byte("x"), AffiliateEndpoints: [][]byte{{1}}, Ttl: durationpb.New(time.Minute),
		})
	}

	var seed bytes.Buffer

	s.write(&seed)
	f.Add(seed.Bytes())
	f.Add(seed.Bytes()[:seed.Len()-1])

	f.Fuzz(func(t *testing.T, raw []byte) {
		one := silent()
		if _, err := one.read(bufio.NewReader(bytes.NewReader(raw)), 0); err != nil {
			return
		}

		var b bytes.Buffer

		before, err := one.write(&b)
		if err != nil {
			t.Fatal(err)
		}

		after, err := silent().read(bufio.NewReader(&b), 0)
		if err != nil {
			t.Fatal(err)
		}

		before.Bytes, after.Bytes = 0, 0
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("saved and loaded again (-before +after):\n%s", diff)
		}
	})
}
