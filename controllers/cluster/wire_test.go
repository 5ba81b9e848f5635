// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	clientapi "github.com/seed-59268b81/talos/api/discovery/client"
	"github.com/seed-59268b81/talos/discovery/client"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
)

func addrs(texts ...string) (out []netip.Addr) {
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}

	return out
}

var compareAddresses = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func example() cluster.AffiliateSpec {
	return cluster.AffiliateSpec{
		NodeID: "one", Addresses: addrs("172.20.0.2", "fd00::2"), Hostname: "cp-1.example.com", Nodename: "cp-1", OperatingSystem: "Talos (v1)",
		MachineType: config.TypeControlPlane, ControlPlane: &cluster.ControlPlane{APIServerPort: 6443}, Revision: 7, Etcd: cluster.EtcdData,
		KubeSpan: &cluster.KubeSpanAffiliateSpec{
			PublicKey: "key", Address: netip.MustParseAddr("fd01::2"), AdditionalAddresses: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/24")},
			Endpoints: []netip.AddrPort{netip.MustParseAddrPort("172.20.0.2:51820")},
		},
	}
}

// over returns what another machine receives.
func over(t *testing.T, l *client.Local) client.Affiliate {
	t.Helper()

	raw, err := proto.Marshal(l.Affiliate)
	if err != nil {
		t.Fatal(err)
	}

	got := &clientapi.Affiliate{}
	if err := proto.Unmarshal(raw, got); err != nil {
		t.Fatal(err)
	}

	return client.Affiliate{ID: got.GetNodeId(), Affiliate: got, Endpoints: l.Endpoints, Revision: l.Revision}
}

func TestWire(t *testing.T) {
	for name, change := range map[string]func(*cluster.AffiliateSpec){
		"all": func(*cluster.AffiliateSpec) {},
		"a worker": func(a *cluster.AffiliateSpec) {
			a.MachineType, a.ControlPlane, a.KubeSpan, a.Etcd = config.TypeWorker, nil, nil, 0
		},
		"asked": func(a *cluster.AffiliateSpec) { a.Etcd = cluster.EtcdAsked },
	} {
		t.Run(name, func(t *testing.T) {
			want := example()
			change(&want)

			got, err := fromWire(over(t, toWire(want)))
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(want, got, compareAddresses, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWireRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*client.Affiliate)
		want   string
	}{
		"of another machine": {func(a *client.Affiliate) { a.ID = "two" }, "of another machine"},
		"no identity":        {func(a *client.Affiliate) { a.ID, a.Affiliate.NodeId = "", "" }, "of another machine"},
		"a strange identity": {func(a *client.Affiliate) { a.ID, a.Affiliate.NodeId = "a/b", "a/b" }, "not the identity"},
		"a strange name":     {func(a *client.Affiliate) { a.Affiliate.Nodename = "a\nb" }, "not the name"},
		"a strange hostname": {func(a *client.Affiliate) { a.Affiliate.Hostname = "../x" }, "not the name"},
		"a long system":      {func(a *client.Affiliate) { a.Affiliate.OperatingSystem = strings.Repeat("x", 300) }, "operating system"},
	} {
		t.Run(name, func(t *testing.T) {
			a := over(t, toWire(example()))
			test.change(&a)

			if _, err := fromWire(a); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// TestWireLeavesOut: addresses that are none, or that no other machine can reach, are left out.
func TestWireLeavesOut(t *testing.T) {
	a := over(t, toWire(example()))
	a.Affiliate.Addresses = append(a.Affiliate.Addresses, []byte{1, 2}, nil, []byte{127, 0, 0, 1}, []byte{224, 0, 0, 1}, []byte{0, 0, 0, 0}, []byte{172, 20, 0, 2})
	a.Affiliate.MachineType = "robot"

	got, err := fromWire(a)
	if err != nil || got.MachineType != config.TypeUnknown {
		t.Fatalf("got type %v, %v; want an unknown one", got.MachineType, err)
	}

	if diff := cmp.Diff(addrs("172.20.0.2", "fd00::2"), got.Addresses, compareAddresses); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

// FuzzFromWire: what another machine sends is refused, or is an affiliate that can be announced again.
func FuzzFromWire(f *testing.F) {
	raw, err := proto.Marshal(toWire(example()).Affiliate)
	if err != nil {
		f.Fatal(err)
	}

	f.Add(raw)
	f.Add([]byte{0xca, 0x3e, 0x80})

	f.Fuzz(func(t *testing.T, raw []byte) {
		in := &clientapi.Affiliate{}
		if proto.Unmarshal(raw, in) != nil {
			return
		}

		spec, err := fromWire(client.Affiliate{ID: in.GetNodeId(), Affiliate: in})
		if err != nil {
			return
		}

		again, err := fromWire(over(t, toWire(spec)))
		if err != nil {
			t.Fatalf("%+v cannot be announced again: %v", spec, err)
		}

		if len(again.Addresses) != len(spec.Addresses) || again.Etcd != spec.Etcd || again.Nodename != spec.Nodename {
			t.Errorf("got %+v, want %+v", again, spec)
		}
	})
}

func TestSources(t *testing.T) {
	plane := func(addresses ...string) cluster.MemberSpec {
		return cluster.MemberSpec{MachineType: config.TypeControlPlane, Addresses: addrs(addresses...)}
	}

	for name, test := range map[string]struct {
		services  []cluster.ServiceEndpoint
		endpoints []k8s.EndpointSpec
		members   []cluster.MemberSpec
		want      []string
	}{
		"nothing": {},
		"services come first, in their order": {
			[]cluster.ServiceEndpoint{{Name: "b", Endpoint: "b.example:443"}, {Name: "a", Endpoint: "a.example:80", Insecure: true}},
			[]k8s.EndpointSpec{{Hosts: []string{"plane.example"}}}, nil,
			[]string{"b service b.example:443", "a service a.example:80 insecure", "carrier/plane.example endpoint plane.example:50002 carried"},
		},
		"a service that is a carrier": {
			[]cluster.ServiceEndpoint{{Name: "own", Endpoint: "172.20.0.2:50002"}}, []k8s.EndpointSpec{{Addresses: addrs("172.20.0.2")}}, []cluster.MemberSpec{plane("172.20.0.2")},
			[]string{"own service 172.20.0.2:50002 carried"},
		},
		"control planes, once each": {
			nil, []k8s.EndpointSpec{{Addresses: addrs("172.20.0.2", "fd00::2")}, {Addresses: addrs("172.20.0.2")}},
			[]cluster.MemberSpec{plane("172.20.0.2", "fd00::2"), {MachineType: config.TypeWorker, Addresses: addrs("172.20.0.9")}, plane()},
			[]string{"carrier/172.20.0.2 member 172.20.0.2:50002 carried"},
		},
		"IPv6": {nil, []k8s.EndpointSpec{{Addresses: addrs("fd00::2")}}, nil, []string{"carrier/fd00::2 endpoint [fd00::2]:50002 carried"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string

			for _, s := range sourcesOf("one", test.services, test.endpoints, test.members) {
				text := s.name + " " + s.kind.String() + " " + s.endpoint
				if s.insecure {
					text += " insecure"
				}

				if s.carried {
					text += " carried"
				}

				got = append(got, text)
			}

			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSourcesAreBounded: however many control planes are announced, the machine connects to a few. Machines differ in which they prefer.
func TestSourcesAreBounded(t *testing.T) {
	var members []cluster.MemberSpec

	for i := range 100 {
		members = append(members, cluster.MemberSpec{MachineType: config.TypeControlPlane, Addresses: []netip.Addr{netip.AddrFrom4([4]byte{172, 20, 1, byte(i)})}})
	}

	first := map[string]bool{}

	for _, own := range []string{"one", "two", "three", "four", "five", "six", "seven", "eight"} {
		got := sourcesOf(own, nil, nil, members)
		if len(got) != maxSources {
			t.Fatalf("got %d sources, want %d", len(got), maxSources)
		}

		first[got[0].name] = true
	}

	if len(first) < 4 {
		t.Errorf("8 machines prefer %v", first)
	}
}
