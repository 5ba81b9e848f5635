// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/secrets"
)

func at(texts ...string) (out []netip.Addr) {
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}

	return out
}

func TestNamesOfMembers(t *testing.T) {
	got := members{
		"cp-1":  {Hostname: "cp-1.example.com", Addresses: at("172.20.0.2")},
		"old":   {Hostname: "New.example.com", Addresses: at("172.20.0.3")},
		"bad":   {Hostname: "cp-1", Addresses: at("172.20.0.66")},
		"empty": {Hostname: "nowhere"},
	}.byName()

	want := map[string]string{
		"cp-1": "172.20.0.2", "cp-1.example.com": "172.20.0.2", "old": "172.20.0.3", "new.example.com": "172.20.0.3", "new": "172.20.0.3", "bad": "172.20.0.66",
	}

	for name, address := range want {
		if !slices.Equal(got[name], at(address)) {
			t.Errorf("%s: got %v, want %s", name, got[name], address)
		}
	}

	if len(got) != len(want) {
		t.Errorf("got names %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// TestWatchMembers: a view has the members, also when nothing else changes, and loses one that is gone.
func TestWatchMembers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	st, views := memory.New(), make(chan *View)

	crt, ca := issue(t)
	for _, err := range []error{
		typed.Set(ctx, st, "", secrets.APIID, secrets.APICertsSpec{Server: crt, AcceptedCAs: []secrets.Cert{{Crt: ca}}}),
		typed.Set(ctx, st, "", runtime.APIServiceConfigID, runtime.APIServiceConfigSpec{ListenAddress: ":50000"}),
		typed.Set(ctx, st, "", "cp-1", cluster.MemberSpec{Addresses: at("172.20.0.2")}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	ended := make(chan error, 1)
	go func() { ended <- watchViews(ctx, st, views) }()

	defer func() {
		cancel()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	wait := func(names ...string) *View {
		t.Helper()

		for timeout := time.After(10 * time.Second); ; {
			select {
			case v := <-views:
				if slices.Equal(slices.Sorted(maps.Keys(v.Members)), names) {
					return v
				}
			case <-timeout:
				t.Fatalf("no view has the members %v", names)
			}
		}
	}

	first := wait("cp-1")

	if err := typed.Set(ctx, st, "", "cp-2", cluster.MemberSpec{Addresses: at("172.20.0.3")}); err != nil {
		t.Fatal(err)
	}

	if second := wait("cp-1", "cp-2"); second.Server != first.Server || len(first.Members) != 1 {
		t.Error("a new member changed the certificate, or the view of before")
	}

	if err := st.Destroy(ctx, resource.PointerOf[cluster.MemberSpec]("", "cp-1")); err != nil {
		t.Fatal(err)
	}

	wait("cp-2")
}

// TestMemberByName: a call for the name of a member goes to its address, the second one if the first is down. The node there must have a
// certificate for the name.
func TestMemberByName(t *testing.T) {
	ca := newCA(t)

	named := view(t, ca)
	named.Server = pair(t, ca, pki.LeafOptions{CommonName: "cp-2", DNSNames: []string{"cp-2"}, IPs: at("127.0.0.1"), Server: true})

	entry := view(t, ca)
	entry.Addresses = at("172.20.0.9")
	entry.Members = map[string][]netip.Addr{"cp-2": at("127.0.0.66", "127.0.0.1"), "impostor": at("127.0.0.1"), "self": at("172.20.0.9")}

	a, b := startNode(t, "entry-of-members", entry), startNode(t, "behind-a-name", named)

	_, port, err := net.SplitHostPort(b.addr)
	if err != nil {
		t.Fatal(err)
	}

	a.router.backends.address = func(node string) string { return net.JoinHostPort(node, port) }

	for node, want := range map[string]string{"cp-2": b.name, "CP-2": b.name, "self": a.name, "impostor": "Unavailable"} {
		client := dial(t, a, ca, clientCert(t, ca, "os:admin"))

		r, err := client.Version(with(t.Context(), "node", node), &emptypb.Empty{})
		if got := tag(r, err); got != want || node == "impostor" && !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: got %s (%v), want %s", node, got, err, want)
		}
	}
}
