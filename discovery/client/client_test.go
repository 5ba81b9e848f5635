// SPDX-License-Identifier: Apache-2.0

package client

import (
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/discovery/registry"
	"github.com/seed-59268b81/talos/discovery/server"
)

func others(n int) func(*View) bool {
	return func(v *View) bool { return v.Complete && len(v.Affiliates) == n }
}

func TestSession(t *testing.T) {
	n := newNetwork(t)
	n.serve(t, "new:1", server.Options{})

	a, b := n.session(t, "new:1", "a"), n.session(t, "new:1", "b")
	a.Publish(local("a", "10.0.0.1:51820"))
	b.Publish(local("b"))

	await(t, b, "to be published", func(v *View) bool { return v.State == StatePublishing && len(v.Affiliates) == 0 })
	b.SetWatch(true)

	v := await(t, b, "a", others(1))
	if got := v.Affiliates["a"]; got.Affiliate.GetHostname() != "a" || got.Revision != 7 || got.ID != "a" || got.Endpoints[0].String() != "10.0.0.1:51820" {
		t.Errorf("b sees %+v", got)
	}

	if v.State != StateWatching || !v.Young || v.Err != nil || v.LastContact.IsZero() {
		t.Errorf("the view is %+v", v)
	}

	// An endpoint that another machine has found.
	l := local("b")
	l.Others = map[string][]netip.AddrPort{"a": {netip.MustParseAddrPort("192.0.2.1:4")}}
	b.Publish(l)
	await(t, b, "the other endpoint", func(v *View) bool { return len(v.Affiliates["a"].Endpoints) == 2 })

	if last := b.View(); v == last || len(v.Affiliates["a"].Endpoints) != 1 {
		t.Error("a view has changed after it was returned")
	}

	a.Publish(nil)
	await(t, b, "a to go", others(0))

	b.SetWatch(false)
	await(t, b, "to stop", func(v *View) bool { return v.State == StatePublishing && !v.Complete })
}

// TestForeign checks that what another secret has sealed is counted, and nothing else.
func TestForeign(t *testing.T) {
	n := newNetwork(t)
	n.serve(t, "new:1", server.Options{})

	o := n.options("new:1", "stranger")
	o.Key = make([]byte, 32)

	stranger := run(t, New(o, slog.New(slog.DiscardHandler)))
	stranger.Publish(local("stranger", "10.0.0.9:1"))

	a, b := n.session(t, "new:1", "a"), n.session(t, "new:1", "b")
	a.Publish(local("a"))
	b.SetWatch(true)

	v := await(t, b, "both", func(v *View) bool { return len(v.Affiliates) == 1 && v.Rejected == 1 })
	if _, ok := v.Affiliates["a"]; !ok {
		t.Errorf("b sees %v", v.Affiliates)
	}
}

func TestRefused(t *testing.T) {
	n := newNetwork(t)
	n.serve(t, "new:1", server.Options{Limits: registry.Limits{Affiliates: 1, Endpoints: 1}})

	a := n.session(t, "new:1", "a")
	a.Publish(local("a"))
	await(t, a, "to be published", func(v *View) bool { return v.State == StatePublishing })

	// The service has no room, and can be watched.
	b := n.session(t, "new:1", "b")
	b.Publish(local("b"))
	b.SetWatch(true)

	v := await(t, b, "a, and an error", func(v *View) bool { return others(1)(v) && v.Err != nil })
	if !strings.Contains(v.Err.Error(), "too many affiliates") {
		t.Errorf("the error is %v", v.Err)
	}

	// Too large to be sent at all.
	large := local("a")
	large.Affiliate.OperatingSystem = strings.Repeat("x", 3000)
	a.Publish(large)

	if v := a.View(); v.Err == nil || !strings.Contains(v.Err.Error(), "bytes") {
		t.Errorf("the error is %v", v.Err)
	}

	a.Publish(local("a"))

	if v := a.View(); v.Err != nil {
		t.Errorf("the error stays: %v", v.Err)
	}

	if err := New(Options{Name: "x", Key: []byte("short")}, slog.New(slog.DiscardHandler)).Run(t.Context()); err == nil {
		t.Error("a session with a short key runs")
	}
}

// TestRestart restarts the service with and without its snapshot. What a watcher sees does not change.
func TestRestart(t *testing.T) {
	for _, keep := range []bool{true, false} {
		n := newNetwork(t)
		service, stop := n.serve(t, "new:1", server.Options{})

		a, b, c := n.session(t, "new:1", "a"), n.session(t, "new:1", "b"), n.session(t, "new:1", "c")

		for _, s := range []*Session{a, b, c} {
			s.Publish(local(s.options.AffiliateID))
			s.SetWatch(true)
		}

		for _, s := range []*Session{a, b, c} {
			await(t, s, "the others", others(2))
		}

		path := filepath.Join(t.TempDir(), "state")

		if _, err := service.Save(path); err != nil {
			t.Fatal(err)
		}

		stop()
		await(t, a, "the loss", func(v *View) bool { return v.Err != nil })

		if v := a.View(); v.Complete || len(v.Affiliates) != 2 {
			t.Errorf("snapshot %t: without a service, a sees %+v", keep, v)
		}

		service = server.New(server.Options{}, slog.New(slog.DiscardHandler))

		if keep {
			if _, err := service.Load(path); err != nil {
				t.Fatal(err)
			}
		}

		n.serveThis(t, "new:1", service)

		for _, s := range []*Session{a, b, c} {
			await(t, s, "the others again", others(2))
		}

		b.Publish(nil)
		await(t, a, "b to go", others(1))
	}
}

// TestLostMemory checks, in virtual time, that a member that a service has forgotten stays until it would have expired.
func TestLostMemory(t *testing.T) {
	table := &table{read: func(m extension.Member, hash uint64) *record {
		return &record{id: m.ID, hash: hash, slot: extension.Slot(m.ID)}
	}}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	member := func(id string) extension.Member { return extension.Member{ID: id, Data: []byte("x")} }
	ids := func() string {
		var all []string
		for _, r := range table.records {
			all = append(all, r.id)
		}

		return strings.Join(all, " ")
	}
	end := extension.Response{Placed: true, Trailer: extension.Trailer{Sequence: 9, End: true}}

	first := end
	first.Members = []extension.Member{member("a"), member("b"), member("c")}

	table.begin(header{boot: extension.Boot{1}, mode: extension.ModeSnapshot}, start)
	table.apply(first, start)

	// A young service has a only.
	second := end
	second.Members = []extension.Member{member("a")}

	table.begin(header{boot: extension.Boot{2}, mode: extension.ModeSnapshot, young: 30 * time.Minute}, start)
	table.apply(second, start)

	if got := ids(); got != "a b c" {
		t.Errorf("after the restart: %s", got)
	}

	// b comes back.
	table.apply(extension.Response{Members: []extension.Member{member("b")}, Placed: true}, start.Add(time.Minute))

	// A second restart does not give c more time.
	table.begin(header{boot: extension.Boot{3}, mode: extension.ModeSnapshot, young: 30 * time.Minute}, start.Add(10*time.Minute))
	table.apply(second, start.Add(10*time.Minute))

	for _, step := range []struct {
		after time.Duration
		want  string
		next  time.Duration
	}{
		{29 * time.Minute, "a b c", 30 * time.Minute},
		{30 * time.Minute, "a b", 40 * time.Minute},
		{40 * time.Minute, "a", 0},
	} {
		_, next := table.expire(start.Add(step.after))
		if got := ids(); got != step.want || step.next != 0 && !next.Equal(start.Add(step.next)) {
			t.Errorf("after %s: %s, again at %s, want %s at %s", step.after, got, next, step.want, step.next)
		}
	}

	// An old service drops a at once.
	table.begin(header{boot: extension.Boot{4}, mode: extension.ModeSnapshot}, start.Add(time.Hour))
	table.apply(end, start.Add(time.Hour))

	if got := ids(); got != "" {
		t.Errorf("an old service has nothing, and %s stays", got)
	}
}

// TestRefresh checks in virtual time that a session refreshes before the TTL ends, and only then.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		service, _ := n.serve(t, "new:1", server.Options{})

		o := n.options("new:1", "a")
		o.TTL = 10 * time.Minute

		a := run(t, New(o, slog.New(slog.DiscardHandler)))
		a.Publish(local("a"))

		least := time.Hour

		for range 4000 {
			time.Sleep(time.Second)

			all := service.Members("cluster")
			if len(all) != 1 {
				t.Fatalf("the service has %d members", len(all))
			}

			least = min(least, all[0].TTL)
		}

		if least < 4*time.Minute || least > 7*time.Minute {
			t.Errorf("the least time left is %s, want about 5 minutes", least)
		}
	})
}

// TestAway checks in virtual time that connections to a service that is away become rare, and that a session comes back.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t)
		a := n.session(t, "new:1", "a")
		a.Publish(local("a"))
		a.SetWatch(true)

		time.Sleep(time.Hour)

		if v := a.View(); v.Err == nil || v.State != StateConnecting {
			t.Errorf("without a service: %+v", v)
		}

		n.serve(t, "new:1", server.Options{})
		time.Sleep(2 * maxDelay)

		if v := a.View(); v.Err != nil || v.State != StateWatching {
			t.Errorf("with a service: %+v", v)
		}
	})
}

func TestBackoff(t *testing.T) {
	b := backoff{limit: maxDelay}

	if d := b.delay(); d < 250*time.Millisecond || d > 750*time.Millisecond {
		t.Errorf("the first delay is %s", d)
	}

	for range 100 {
		if d := b.delay(); d > maxDelay*3/2 {
			t.Errorf("a delay of %s", d)
		}
	}

	b.reset()

	if d := b.delay(); d > 750*time.Millisecond {
		t.Errorf("the delay after a success is %s", d)
	}
}

func TestHeader(t *testing.T) {
	boot := extension.Boot{1}.String()

	for name, md := range map[string]metadata.MD{
		"boot":  metadata.Pairs(extension.KeyBoot, "x", extension.KeyMode, extension.ModeResume),
		"mode":  metadata.Pairs(extension.KeyBoot, boot, extension.KeyMode, "x"),
		"young": metadata.Pairs(extension.KeyBoot, boot, extension.KeyMode, extension.ModeResume, extension.KeyYoung, "-1"),
	} {
		if h, err := headerOf(md); err == nil {
			t.Errorf("%s: accepted as %+v", name, h)
		}
	}
}

// FuzzReceive gives a session what a service may send.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{}, extension.ModeSnapshot)
	f.Add(extension.AppendTrailer(extension.AppendMember(nil, "a", make([]byte, 40), []string{string(make([]byte, 16))}), extension.Trailer{End: true}), extension.ModeDifference)

	f.Fuzz(func(t *testing.T, raw []byte, mode string) {
		s := New(Options{Key: key, AffiliateID: "me"}, slog.New(slog.DiscardHandler))
		s.SetWatch(true)
		t.Cleanup(s.stopExpiry)

		head, err := headerOf(metadata.Pairs(extension.KeyBoot, extension.Boot{}.String(), extension.KeyMode, mode, extension.KeyYoung, "60"))
		if err != nil {
			return
		}

		m, err := extension.DecodeResponse(raw)
		if err != nil {
			return
		}

		s.receive(true, head, m)
		s.receive(false, header{}, m)
		s.View()
	})
}
