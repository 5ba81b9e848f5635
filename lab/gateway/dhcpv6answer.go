// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"
	"github.com/insomniacslk/dhcp/rfc1035label"
)

// answerDHCPv6 returns the answer to a client's message from an address, or nil for a message that gets none (RFC 8415,
// 18.3).
func (c *Config) answerDHCPv6(request *dhcpv6.Message, from netip.Addr, b DHCPv6Behaviour) (*dhcpv6.Message, error) {
	kind := request.Type()
	if b.Stateless && kind != dhcpv6.MessageTypeInformationRequest {
		return nil, nil
	}

	if mine, err := c.isForMe(request); !mine || err != nil {
		return nil, err
	}

	host := c.hostByDUID(request.Options.ClientID(), from)
	if host == nil && kind != dhcpv6.MessageTypeInformationRequest && kind != dhcpv6.MessageTypeConfirm {
		return nil, fmt.Errorf("no host has the identifier %v or the address %v", request.Options.ClientID(), from)
	}

	reply := &dhcpv6.Message{MessageType: dhcpv6.MessageTypeReply, TransactionID: request.TransactionID}
	if id := request.GetOneOption(dhcpv6.OptionClientID); id != nil {
		reply.AddOption(id)
	}

	reply.AddOption(dhcpv6.OptServerID(c.duid()))

	switch kind {
	case dhcpv6.MessageTypeSolicit:
		if request.GetOneOption(dhcpv6.OptionRapidCommit) != nil && !b.NoRapidCommit {
			dhcpv6.WithRapidCommit(reply)
		} else {
			reply.MessageType = dhcpv6.MessageTypeAdvertise
		}

		c.lease(reply, request, host, b)
	case dhcpv6.MessageTypeRequest, dhcpv6.MessageTypeRenew, dhcpv6.MessageTypeRebind:
		c.lease(reply, request, host, b)
	case dhcpv6.MessageTypeConfirm:
		return c.confirm(reply, request), nil
	case dhcpv6.MessageTypeRelease:
		reply.AddOption(status(iana.StatusSuccess, "leases are fixed"))

		return reply, nil
	case dhcpv6.MessageTypeDecline:
		return nil, fmt.Errorf("the client declines %v: another host has it", host.Addr6)
	case dhcpv6.MessageTypeInformationRequest:
		if wants(request, dhcpv6.OptionInformationRefreshTime) {
			reply.AddOption(dhcpv6.OptInformationRefreshTime(max(cmp.Or(b.LeaseTime, c.LeaseTime), minRefresh)))
		}
	default:
		return nil, fmt.Errorf("message type %v is not a client's", kind)
	}

	c.addInformation(reply, request, host)

	return reply, nil
}

// minRefresh is the shortest time after which stateless clients repeat their request (RFC 8415, 21.23).
const minRefresh = 10 * time.Minute

// isForMe checks the identifiers that a message must have (RFC 8415, 16). It reports whether the message is for this
// server.
func (c *Config) isForMe(request *dhcpv6.Message) (bool, error) {
	kind, server := request.Type(), request.Options.ServerID()
	if request.Options.ClientID() == nil && kind != dhcpv6.MessageTypeInformationRequest {
		return false, errors.New("the client sends no identifier")
	}

	switch kind {
	case dhcpv6.MessageTypeSolicit, dhcpv6.MessageTypeRebind, dhcpv6.MessageTypeConfirm:
		if server != nil {
			return false, fmt.Errorf("a %v must be for all servers, and this one is for %v", kind, server)
		}
	case dhcpv6.MessageTypeRequest, dhcpv6.MessageTypeRenew, dhcpv6.MessageTypeRelease, dhcpv6.MessageTypeDecline:
		if server == nil {
			return false, fmt.Errorf("a %v without a server's identifier", kind)
		}
	}

	return server == nil || c.duid().Equal(server), nil
}

// duid identifies the server.
func (c *Config) duid() dhcpv6.DUID {
	return &dhcpv6.DUIDLL{HWType: iana.HWTypeEthernet, LinkLayerAddr: c.MAC}
}

// hostByDUID returns the host with a DUID, or else the host whose hardware address is part of the DUID or of the
// sender's address.
func (c *Config) hostByDUID(id dhcpv6.DUID, from netip.Addr) *Host {
	if id != nil {
		for i := range c.Hosts {
			if h := &c.Hosts[i]; len(h.DUID) > 0 && bytes.Equal(h.DUID, id.ToBytes()) {
				return h
			}
		}
	}

	var mac net.HardwareAddr

	switch id := id.(type) {
	case *dhcpv6.DUIDLL:
		mac = id.LinkLayerAddr
	case *dhcpv6.DUIDLLT:
		mac = id.LinkLayerAddr
	}

	if host := c.hostByMAC(mac); host != nil {
		return host
	}

	if from.IsLinkLocalUnicast() {
		return c.hostByMAC(macOf(from))
	}

	return nil
}

// lease answers each of the client's identity associations. The first gets the host's address or prefix. Other
// addresses that the client lists get lifetime zero (RFC 8415, 18.3.4).
func (c *Config) lease(reply, request *dhcpv6.Message, host *Host, b DHCPv6Behaviour) {
	valid := cmp.Or(b.LeaseTime, c.LeaseTime)
	preferred := max(valid/8*5, time.Second).Truncate(time.Second) // multiplied first, the longest lease would overflow
	renew, rebind := (valid / 2).Truncate(time.Second), (valid / 5 * 4).Truncate(time.Second)
	addr := net.IP(host.Addr6.AsSlice())

	for i, asked := range request.Options.IANA() {
		answer := &dhcpv6.OptIANA{IaId: asked.IaId, T1: renew, T2: rebind}

		if i == 0 && !b.NoAddresses {
			answer.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: addr, PreferredLifetime: preferred, ValidLifetime: valid})
		} else {
			answer.T1, answer.T2 = 0, 0
			answer.Options.Add(status(iana.StatusNoAddrsAvail, "no address is free"))
		}

		for _, old := range asked.Options.Addresses() {
			if request.Type() != dhcpv6.MessageTypeSolicit && !(i == 0 && !b.NoAddresses && old.IPv6Addr.Equal(addr)) {
				answer.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: old.IPv6Addr})
			}
		}

		reply.AddOption(answer)
	}

	for i, asked := range request.Options.IAPD() {
		answer := &dhcpv6.OptIAPD{IaId: asked.IaId, T1: renew, T2: rebind}

		if i == 0 && host.Delegated.IsValid() && !b.NoAddresses {
			answer.Options.Add(&dhcpv6.OptIAPrefix{Prefix: ipNet(host.Delegated), PreferredLifetime: preferred, ValidLifetime: valid})
		} else {
			answer.T1, answer.T2 = 0, 0
			answer.Options.Add(status(iana.StatusNoPrefixAvail, "no prefix is kept for this client"))
		}

		reply.AddOption(answer)
	}
}

// confirm answers whether a client's addresses belong to this network. A message without addresses gets no answer (RFC
// 8415, 18.3.3).
func (c *Config) confirm(reply, request *dhcpv6.Message) *dhcpv6.Message {
	answer := status(iana.StatusSuccess, "the addresses belong to this network")
	known := false

	for _, ia := range request.Options.IANA() {
		for _, addr := range ia.Options.Addresses() {
			known = true

			if ip, ok := netip.AddrFromSlice(addr.IPv6Addr); !ok || !c.Subnet6.Contains(ip) {
				answer = status(iana.StatusNotOnLink, fmt.Sprintf("this network is %v", c.Subnet6))
			}
		}
	}

	if !known {
		return nil
	}

	reply.AddOption(answer)

	return reply
}

// addInformation adds the options that the client requests besides addresses.
func (c *Config) addInformation(reply, request *dhcpv6.Message, host *Host) {
	self := net.IP(c.Addr6.AsSlice())

	if c.has(ServiceDNS) && wants(request, dhcpv6.OptionDNSRecursiveNameServer) {
		reply.AddOption(dhcpv6.OptDNS(self))
	}

	if c.Domain != "" && wants(request, dhcpv6.OptionDomainSearchList) {
		reply.AddOption(dhcpv6.OptDomainSearchList(&rfc1035label.Labels{Labels: []string{c.Domain}}))
	}

	if c.has(ServiceNTP) && wants(request, dhcpv6.OptionNTPServer) {
		address := dhcpv6.NTPSuboptionSrvAddr(self)
		reply.AddOption(&dhcpv6.OptNTPServer{Suboptions: dhcpv6.Options{&address}})
	}

	if c.has(ServiceNTP) && wants(request, dhcpv6.OptionSNTPServerList) {
		reply.AddOption(dhcpv6.OptSNTP(self))
	}

	if host != nil && wants(request, dhcpv6.OptionFQDN) {
		name := host.Name
		if c.Domain != "" {
			name += "." + c.Domain
		}

		reply.AddOption(&dhcpv6.OptFQDN{DomainName: &rfc1035label.Labels{Labels: []string{name}}})
	}
}

// wants reports whether a client requests an option.
func wants(request *dhcpv6.Message, code dhcpv6.OptionCode) bool {
	return slices.Contains(request.Options.RequestedOptions(), code)
}

func status(code iana.StatusCode, why string) dhcpv6.Option {
	return &dhcpv6.OptStatusCode{StatusCode: code, StatusMessage: why}
}

func ipNet(p netip.Prefix) *net.IPNet {
	p = p.Masked()

	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
