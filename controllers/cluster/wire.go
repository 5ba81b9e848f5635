// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	clientapi "github.com/seed-59268b81/talos/api/discovery/client"
	"github.com/seed-59268b81/talos/discovery/client"
	"github.com/seed-59268b81/talos/resources/cluster"
	"github.com/seed-59268b81/talos/resources/config"
)

// claimField is the number of the field with the machine's EtcdClaim. The protocol of other clients does not have it: they ignore it.
const claimField protowire.Number = 1001

// Limits of one announcement, which another machine writes.
const (
	maxAddresses = 64
	maxPrefixes  = 256
	maxText      = 256
)

// toWire returns what this machine announces.
func toWire(a cluster.AffiliateSpec) *client.Local {
	out := &clientapi.Affiliate{
		NodeId: a.NodeID, Hostname: a.Hostname, Nodename: a.Nodename, MachineType: a.MachineType.String(), OperatingSystem: a.OperatingSystem,
	}

	// Others read no more, and services take only 2 KiB.
	for _, addr := range a.Addresses[:min(len(a.Addresses), maxAddresses)] {
		out.Addresses = append(out.Addresses, addr.AsSlice())
	}

	local := &client.Local{Affiliate: out, Revision: a.Revision}

	if a.ControlPlane != nil {
		out.ControlPlane = &clientapi.ControlPlane{ApiServerPort: uint32(a.ControlPlane.APIServerPort)}
	}

	if k := a.KubeSpan; k != nil {
		out.Kubespan = &clientapi.KubeSpan{
			PublicKey: k.PublicKey, Address: k.Address.AsSlice(),
			AdditionalAddresses: toPrefixes(k.AdditionalAddresses), ExcludeAdvertisedAddresses: toPrefixes(k.ExcludeAdvertisedNetworks),
		}
		local.Endpoints = k.Endpoints
	}

	if a.Etcd != cluster.EtcdNone {
		out.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, claimField, protowire.VarintType), uint64(a.Etcd)))
	}

	return local
}

func toPrefixes(list []netip.Prefix) (out []*clientapi.IPPrefix) {
	for _, p := range list {
		out = append(out, &clientapi.IPPrefix{Ip: p.Addr().AsSlice(), Bits: uint32(p.Bits())})
	}

	return out
}

// nameOfMachine matches the names that machines may have. Names become ids of resources, and names that the machine's DNS server answers.
var nameOfMachine = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,252}$`)

// fromWire returns what another machine announces. It leaves out addresses that are none.
func fromWire(a client.Affiliate) (cluster.AffiliateSpec, error) {
	in := a.Affiliate
	spec := cluster.AffiliateSpec{
		NodeID: in.GetNodeId(), Hostname: in.GetHostname(), Nodename: in.GetNodename(), OperatingSystem: in.GetOperatingSystem(),
		Revision: a.Revision, Etcd: claimOf(in.ProtoReflect().GetUnknown()),
	}

	switch {
	case a.ID == "" || spec.NodeID != a.ID:
		return spec, errors.New("the announcement is of another machine")
	case !nameOfMachine.MatchString(spec.NodeID):
		return spec, fmt.Errorf("%q is not the identity of a machine", spec.NodeID)
	}

	for _, name := range []string{spec.Hostname, spec.Nodename} {
		if name != "" && !nameOfMachine.MatchString(name) {
			return spec, fmt.Errorf("%q is not the name of a machine", name)
		}
	}

	if len(spec.OperatingSystem) > maxText {
		return spec, fmt.Errorf("the name of the operating system has %d bytes, want at most %d", len(spec.OperatingSystem), maxText)
	}

	// An unknown type stays zero.
	for _, t := range []config.MachineType{config.TypeInit, config.TypeControlPlane, config.TypeWorker} {
		if in.GetMachineType() == t.String() {
			spec.MachineType = t
		}
	}

	for _, raw := range in.GetAddresses() {
		if addr, ok := addressOf(raw); ok && len(spec.Addresses) < maxAddresses && !slices.Contains(spec.Addresses, addr) {
			spec.Addresses = append(spec.Addresses, addr)
		}
	}

	if plane := in.GetControlPlane(); plane != nil {
		spec.ControlPlane = &cluster.ControlPlane{APIServerPort: int(min(plane.GetApiServerPort(), 65535))}
	}

	spec.KubeSpan = kubeSpanOf(in.GetKubespan(), a.Endpoints)

	return spec, nil
}

func kubeSpanOf(in *clientapi.KubeSpan, endpoints []netip.AddrPort) *cluster.KubeSpanAffiliateSpec {
	if in == nil || len(in.GetPublicKey()) > maxText {
		return nil
	}

	address, _ := addressOf(in.GetAddress())

	return &cluster.KubeSpanAffiliateSpec{
		PublicKey: in.GetPublicKey(), Address: address,
		AdditionalAddresses:       fromPrefixes(in.GetAdditionalAddresses()),
		Endpoints:                 endpoints[:min(len(endpoints), maxAddresses)],
		ExcludeAdvertisedNetworks: fromPrefixes(in.GetExcludeAdvertisedAddresses()),
	}
}

func fromPrefixes(list []*clientapi.IPPrefix) (out []netip.Prefix) {
	for _, p := range list[:min(len(list), maxPrefixes)] {
		addr, ok := netip.AddrFromSlice(p.GetIp())
		if prefix := netip.PrefixFrom(addr.Unmap(), int(min(p.GetBits(), 255))); ok && prefix.IsValid() {
			out = append(out, prefix)
		}
	}

	return out
}

// addressOf returns an address at which a machine can be reached.
func addressOf(raw []byte) (netip.Addr, bool) {
	addr, ok := netip.AddrFromSlice(raw)
	addr = addr.Unmap()

	return addr, ok && !addr.IsUnspecified() && !addr.IsLoopback() && !addr.IsMulticast() && !addr.IsLinkLocalUnicast()
}

// claimOf finds the claim among the fields that the protocol does not have.
func claimOf(unknown []byte) (claim cluster.EtcdClaim) {
	for len(unknown) > 0 {
		number, kind, n := protowire.ConsumeTag(unknown)
		if n < 0 {
			return claim
		}

		unknown = unknown[n:]

		if number == claimField && kind == protowire.VarintType {
			if v, n := protowire.ConsumeVarint(unknown); n > 0 && v <= uint64(cluster.EtcdData) {
				claim = cluster.EtcdClaim(v)
			}
		}

		if n = protowire.ConsumeFieldValue(number, kind, unknown); n < 0 {
			return claim
		}

		unknown = unknown[n:]
	}

	return claim
}
