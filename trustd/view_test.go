// SPDX-License-Identifier: Apache-2.0

package trustd

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

func set[S resource.Spec](t *testing.T, st *memory.State, id string, spec S) {
	t.Helper()

	if err := typed.Set(context.Background(), st, "", id, spec); err != nil {
		t.Fatal(err)
	}
}

func texts(in map[netip.Addr]bool) []string {
	var out []string
	for addr := range in {
		out = append(out, addr.String())
	}

	slices.Sort(out)

	return out
}

// TestReadAuthority checks which resources of a control plane node reserve names, and the errors of invalid ones.
func TestReadAuthority(t *testing.T) {
	st := memory.New()
	ca := newCA(t)

	read := func() *Authority {
		t.Helper()

		view, err := ReadAuthority(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}

		return view
	}

	if read() != nil {
		t.Error("without resources: got a view")
	}

	pair, err := ca.Sign(pki.LeafOptions{
		CommonName: "cp1.example.org", DNSNames: []string{"CP1", "cp1.example.org", "localhost", "lb.example.org"},
		IPs: addrs("10.5.0.2", "fd00::2", "127.0.0.1", "192.0.2.1", "10.5.0.9"), Server: true, TTL: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}

	root := secrets.OSRootSpec{
		IssuingCA: secrets.CertAndKey{Crt: ca.PEM.Crt, Key: ca.PEM.Key}, AcceptedCAs: []secrets.Cert{{Crt: ca.PEM.Crt}, {Crt: newCA(t).PEM.Crt}},
		Token: token, CertSANDNSNames: []string{"lb.example.org"}, CertSANIPs: addrs("192.0.2.1", "10.5.0.9", "127.0.0.1", "10.5.0.3"),
	}

	set(t, st, secrets.TrustdID, secrets.TrustdCertsSpec{Server: secrets.CertAndKey{Crt: pair.Crt, Key: pair.Key}})

	if read() != nil {
		t.Error("without an authority: got one")
	}

	if view, err := ReadView(t.Context(), st); err != nil || view == nil {
		t.Errorf("trustd itself needs only its certificate: got %v, %v", view, err)
	}

	set(t, st, secrets.OSRootID, root)
	set(t, st, k8s.EndpointControlPlane, k8s.EndpointSpec{Hosts: []string{"API.example.org"}})
	set(t, st, k8s.EndpointAPIServerID, k8s.EndpointSpec{Addresses: addrs("10.5.0.2", "10.5.0.3")})

	set(t, st, "CP2", k8s.NodeIdentitySpec{Addresses: addrs("10.5.0.4"), ControlPlane: true})
	set(t, st, "w1", k8s.NodeIdentitySpec{Addresses: addrs("10.5.0.5", "10.6.0.5")})

	view := read()

	if got := view.Nodes.at[netip.MustParseAddr("10.6.0.5")]; !slices.Equal(got, []string{"w1"}) {
		t.Errorf("who calls from w1's other address: got %v", got)
	}

	if view.Token != token || strings.Count(string(view.Bundle), "BEGIN CERTIFICATE") != 2 || !view.CA.Certificate.Equal(ca.Certificate) {
		t.Errorf("got token %q, bundle %s", view.Token, view.Bundle)
	}

	for what, test := range map[string]struct{ got, want []string }{
		"names":     {slices.Sorted(maps.Keys(view.Reserved.Names)), []string{"api.example.org", "cp1", "cp1.example.org", "cp2", "lb.example.org"}},
		"addresses": {texts(view.Reserved.Addresses), []string{"10.5.0.2", "10.5.0.3", "10.5.0.4", "10.5.0.9", "192.0.2.1", "fd00::2"}},
		"declared":  {texts(view.Reserved.Declared), []string{"10.5.0.9", "192.0.2.1"}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("reserved %s (-want +got):\n%s", what, diff)
		}
	}

	root.IssuingCA.Key = nil
	set(t, st, secrets.OSRootID, root)

	if _, err := ReadAuthority(t.Context(), st); err == nil || !strings.Contains(err.Error(), "machine.ca") {
		t.Errorf("without the authority's key: got %v, want machine.ca named", err)
	}
}
