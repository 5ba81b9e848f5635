// SPDX-License-Identifier: Apache-2.0

package apid

import (
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/contract"
)

// maxNodes is how many nodes one call can name.
const maxNodes = 512

// route is where a call goes: to this machine if it names no node, to one node, or to many nodes, whose answers are combined.
type route struct {
	node  string
	nodes []string
}

// routeOf returns the route of a call, by its metadata.
func routeOf(v *View, md metadata.MD, method string) (route, error) {
	if len(md.Get(contract.KeyProxyFrom)) > 0 {
		return route{}, nil // it was forwarded to this node
	}

	node, nodes := md.Get(contract.KeyNode), slices.Compact(slices.Sorted(slices.Values(md.Get(contract.KeyNodes))))

	// A machine that does not forward still serves old clients, which name one node in `nodes`.
	if !v.forwards() && len(nodes) == 1 {
		node, nodes = nodes, nil
	}

	if len(nodes) > 0 {
		return v.many(nodes, method)
	}

	switch {
	case len(node) == 0:
		return route{}, nil
	case len(node) > 1:
		return route{}, status.Errorf(codes.InvalidArgument, "the metadata names several nodes (%q): `node` metadata must be single-valued", node)
	case v.Local(node[0]):
		return route{}, nil
	}

	if err := v.mayForward(node[0]); err != nil {
		return route{}, err
	}

	host, err := hostOf(node[0])

	return route{node: host}, err
}

func (v *View) many(nodes []string, method string) (route, error) {
	if !aggregates(method) {
		return route{}, status.Errorf(codes.InvalidArgument, "%s: its answers cannot be combined: make one call for each node, with `node` metadata", strings.TrimPrefix(method, "/"))
	}

	if len(nodes) > maxNodes {
		return route{}, status.Errorf(codes.InvalidArgument, "the call names %d nodes: name at most %d", len(nodes), maxNodes)
	}

	if err := v.mayForward(strings.Join(nodes, ", ")); err != nil {
		return route{}, err
	}

	return route{nodes: nodes}, nil
}

func (v *View) forwards() bool { return !v.NoRouting && v.Client != nil }

func (v *View) mayForward(nodes string) error {
	switch {
	case v.NoRouting:
		return status.Errorf(codes.FailedPrecondition,
			"no request forwarding: call to node %s: this node is in maintenance mode and does not forward; use the node's own address as the endpoint", nodes)
	case v.Client == nil:
		return status.Errorf(codes.PermissionDenied,
			"no request forwarding: call to node %s: this node is a worker and does not forward; use a control plane node as the endpoint", nodes)
	default:
		return nil
	}
}

// Local reports whether a target is this node.
func (v *View) Local(target string) bool {
	host, err := hostOf(target)
	if err != nil {
		return false
	}

	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback() || slices.Contains(v.Addresses, addr.Unmap())
	}

	if slices.ContainsFunc(v.Hostnames, func(name string) bool { return strings.EqualFold(name, host) }) {
		return true
	}

	// The name in Kubernetes may be another one.
	return slices.ContainsFunc(v.Members[strings.ToLower(host)], func(a netip.Addr) bool { return slices.Contains(v.Addresses, a) })
}

// hostOf returns the address or name of a target. The only port that it accepts is the API's: a caller must not make this node
// dial other ports.
func hostOf(target string) (string, error) {
	host := strings.TrimSuffix(strings.TrimPrefix(target, "["), "]")

	if h, port, err := net.SplitHostPort(target); err == nil {
		if port != strconv.Itoa(contract.APIPort) {
			return "", status.Errorf(codes.InvalidArgument, "node %q: its API is on port %d: use its address or name alone", target, contract.APIPort)
		}

		host = h
	}

	// The zone of an address is the name of a link.
	if addr, err := netip.ParseAddr(host); err == nil && (addr.Zone() == "" || isName(addr.Zone())) || isName(host) {
		return host, nil
	}

	return "", status.Errorf(codes.InvalidArgument, "node %q is neither an address nor a name", target)
}

// isName reports whether a string is a host name. It is wider than RFC 1123: some resolvers allow underscores.
func isName(name string) bool { return nameOfHost.MatchString(name) }

var nameOfHost = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,252}$`)
