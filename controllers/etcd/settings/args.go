// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"net/netip"
	"strings"

	"github.com/seed-59268b81/talos/controllers/k8s/args"
	"github.com/seed-59268b81/talos/resources/etcd"
)

// ClusterToken is the flag that makes clusters differ that were started with the same members.
const ClusterToken = "initial-cluster-token"

// policy of extra arguments: the node decides where etcd's data and keys are and which clients it accepts. The initial cluster may
// be set, to repair a cluster by hand.
var policy = args.Policy{
	// With a file, etcd ignores its command line.
	"config-file":                        args.Denied,
	"name":                               args.Denied,
	"data-dir":                           args.Denied,
	"initial-cluster-state":              args.Denied,
	"listen-peer-urls":                   args.Denied,
	"listen-client-urls":                 args.Denied,
	"listen-client-http-urls":            args.Denied,
	"initial-advertise-peer-urls":        args.Denied,
	"advertise-client-urls":              args.Denied,
	"auto-tls":                           args.Denied,
	"peer-auto-tls":                      args.Denied,
	"client-cert-auth":                   args.Denied,
	"cert-file":                          args.Denied,
	"key-file":                           args.Denied,
	"trusted-ca-file":                    args.Denied,
	"peer-client-cert-auth":              args.Denied,
	"peer-cert-file":                     args.Denied,
	"peer-key-file":                      args.Denied,
	"peer-trusted-ca-file":               args.Denied,
	"experimental-initial-corrupt-check": args.Denied,
	"feature-gates":                      args.Additive,
}

// CommandLine returns the arguments of etcd. initialCluster is name=URL,…; etcd ignores it once it has data.
func CommandLine(spec etcd.SpecSpec, initialCluster string, existing bool) ([]string, error) {
	state := "new"
	if existing {
		state = "existing"
	}

	wanted := args.Set{
		"name":                           {spec.Name},
		"data-dir":                       {DataDir},
		"auto-tls":                       {"false"},
		"peer-auto-tls":                  {"false"},
		"listen-peer-urls":               {URLs(spec.ListenPeerAddresses, PeerPort)},
		"listen-client-urls":             {URLs(spec.ListenClientAddresses, ClientPort)},
		"listen-client-http-urls":        {URLs(spec.ListenClientAddresses, HealthPort)},
		"advertise-client-urls":          {URLs(spec.AdvertisedAddresses, ClientPort)},
		"initial-advertise-peer-urls":    {URLs(spec.AdvertisedAddresses, PeerPort)},
		"initial-cluster":                {initialCluster},
		"initial-cluster-state":          {state},
		"client-cert-auth":               {"true"},
		"cert-file":                      {PKIDir + "/server.crt"},
		"key-file":                       {PKIDir + "/server.key"},
		"trusted-ca-file":                {PKIDir + "/ca.crt"},
		"peer-client-cert-auth":          {"true"},
		"peer-cert-file":                 {PKIDir + "/peer.crt"},
		"peer-key-file":                  {PKIDir + "/peer.key"},
		"peer-trusted-ca-file":           {PKIDir + "/ca.crt"},
		"feature-gates":                  {"InitialCorruptCheck=true,CompactHashCheck=true"},
		"watch-progress-notify-interval": {"5s"},
		"tls-min-version":                {"TLS1.3"},
	}

	extra := make(args.Set, len(spec.ExtraArgs))
	for name, values := range spec.ExtraArgs {
		extra[name] = values.Values
	}

	return args.Merge("etcd", spec.Image, wanted, extra, policy)
}

// SelfCluster returns the initial cluster of one member.
func SelfCluster(spec etcd.SpecSpec) string {
	parts := make([]string, 0, len(spec.AdvertisedAddresses))
	for _, addr := range spec.AdvertisedAddresses {
		parts = append(parts, spec.Name+"="+URL(addr, PeerPort))
	}

	return strings.Join(parts, ",")
}

// URLs returns the URLs of a member at its addresses, separated by commas.
func URLs(addresses []netip.Addr, port int) string {
	out := make([]string, 0, len(addresses))
	for _, addr := range addresses {
		out = append(out, URL(addr, port))
	}

	return strings.Join(out, ",")
}

func URL(addr netip.Addr, port int) string {
	return "https://" + netip.AddrPortFrom(addr, uint16(port)).String() // ports are constants
}
