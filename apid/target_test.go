// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
)

func TestManyTargets(t *testing.T) {
	v := &View{Client: &tls.Certificate{}, Addresses: []netip.Addr{netip.MustParseAddr("10.5.0.2")}}

	tooMany := metadata.MD{}
	for range maxNodes + 1 {
		tooMany.Append(contract.KeyNodes, "n"+strings.Repeat("x", tooMany.Len())+string(rune('a'+len(tooMany.Get(contract.KeyNodes))%26))+strings.Repeat("y", len(tooMany.Get(contract.KeyNodes))/26))
	}

	for _, tt := range []struct {
		name, method string
		view         *View
		md           metadata.MD
		want         int // nodes
		code         codes.Code
	}{
		{"two", "/machine.MachineService/Version", v, metadata.Pairs(contract.KeyNodes, "a", contract.KeyNodes, "b"), 2, codes.OK},
		{"one", "/machine.MachineService/Version", v, metadata.Pairs(contract.KeyNodes, "a"), 1, codes.OK},
		{"itself", "/machine.MachineService/Version", v, metadata.Pairs(contract.KeyNodes, "10.5.0.2"), 1, codes.OK},
		{"one twice", "/machine.MachineService/Version", v, metadata.Pairs(contract.KeyNodes, "a", contract.KeyNodes, "a"), 1, codes.OK},
		{"forwarded", "/machine.MachineService/Version", v, metadata.Pairs(contract.KeyNodes, "a", contract.KeyNodes, "b", contract.KeyProxyFrom, "x"), 0, codes.OK},
		{"answers that cannot be combined", "/machine.ImageService/List", v, metadata.Pairs(contract.KeyNodes, "a"), 0, codes.InvalidArgument},
		{"resources", "/cosi.resource.State/Get", v, metadata.Pairs(contract.KeyNodes, "a", contract.KeyNodes, "b"), 0, codes.InvalidArgument},
		{"too many", "/machine.MachineService/Version", v, tooMany, 0, codes.InvalidArgument},
		{"of a worker", "/machine.MachineService/Version", &View{}, metadata.Pairs(contract.KeyNodes, "a", contract.KeyNodes, "b"), 0, codes.PermissionDenied},
		{"in maintenance", "/machine.MachineService/Version", &View{NoRouting: true}, metadata.Pairs(contract.KeyNodes, "a", contract.KeyNodes, "b"), 0, codes.FailedPrecondition},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := routeOf(tt.view, tt.md, tt.method)
			if status.Code(err) != tt.code || len(got.nodes) != tt.want {
				t.Errorf("got %v, %v, want %d nodes and %v", got.nodes, err, tt.want, tt.code)
			}
		})
	}
}

// FuzzRoute routes any metadata: a call goes to this node, or to hosts on the port of the API.
func FuzzRoute(f *testing.F) {
	f.Add("10.5.0.2", "", true, false, "/machine.MachineService/Version")
	f.Add("[fd00::2%eth0]:50000", "a,b", true, true, "/cosi.resource.State/Get")
	f.Add("", "\x00", false, true, "")
	f.Add("10.5.0.3:22", "fe80::1%\n", true, true, "/machine.MachineService/Version")
	f.Add("cp-1]", "::ffff:10.5.0.2", true, false, "x")

	v := &View{Client: &tls.Certificate{}, Addresses: []netip.Addr{netip.MustParseAddr("10.5.0.2")}, Hostnames: []string{"cp-1"}}
	dial := newBackends("", func(int) {}).address

	f.Fuzz(func(t *testing.T, node, nodes string, hasNode, hasNodes bool, method string) {
		md := metadata.MD{}
		if hasNode {
			md.Set(contract.KeyNode, node)
		}

		if hasNodes {
			md.Set(contract.KeyNodes, nodes, node)
		}

		to, err := routeOf(v, md, method)
		if err != nil {
			if c := status.Code(err); c != codes.InvalidArgument {
				t.Errorf("got %v, want InvalidArgument", err)
			}

			return
		}

		if len(to.nodes) > 0 && !hasNodes || to.node != "" && (!hasNode || hasNodes) {
			t.Errorf("got %+v", to)
		}

		for _, target := range append(to.nodes, to.node) {
			host, err := hostOf(target)
			if err != nil {
				continue // it is that node's answer
			}

			h, port, err := net.SplitHostPort(dial(host))
			if err != nil || port != "50000" || strings.ContainsAny(h, "/\\@ \x00\n\r[]") {
				t.Errorf("%q is dialled as %q (%v)", target, dial(host), err)
			}
		}
	})
}
