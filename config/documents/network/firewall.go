// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/config/document"
	"github.com/seed-59268b81/talos/config/value"
)

// NetworkDefaultActionConfig says what becomes of packets to the machine for which there is no NetworkRuleConfig.
type NetworkDefaultActionConfig struct {
	document.Header `yaml:",inline"`
	// Whether they are accepted, or blocked.
	Ingress DefaultAction `yaml:"ingress" required:"true"`
}

// DefaultAction is what becomes of packets.
type DefaultAction string

// The actions.
const (
	DefaultActionAccept DefaultAction = "accept"
	DefaultActionBlock  DefaultAction = "block"
)

// Values implements document.Enum.
func (DefaultAction) Values() []string {
	return document.EnumOf(DefaultActionAccept, DefaultActionBlock)
}

// NetworkRuleConfig accepts packets to ports of the machine from some networks, and blocks others to these ports.
type NetworkRuleConfig struct {
	document.Named `yaml:",inline"`
	// The ports.
	PortSelector PortSelector `yaml:"portSelector" required:"true"`
	// The networks that packets may come from; from none without any.
	Ingress []IngressRule `yaml:"ingress,omitempty" merge:"replace"`
}

// PortSelector selects ports.
type PortSelector struct {
	// Ports and ranges of ports, such as 6443 or 30000-32767. The protocols icmp and icmpv6 have none.
	Ports []PortRange `yaml:"ports,omitempty" merge:"replace"`
	// The protocol.
	Protocol Protocol `yaml:"protocol" required:"true"`
}

// Protocol is a protocol of packets.
type Protocol string

// The protocols.
const (
	ProtocolTCP    Protocol = "tcp"
	ProtocolUDP    Protocol = "udp"
	ProtocolICMP   Protocol = "icmp"
	ProtocolICMPv6 Protocol = "icmpv6"
)

// Values implements document.Enum.
func (Protocol) Values() []string {
	return document.EnumOf(ProtocolTCP, ProtocolUDP, ProtocolICMP, ProtocolICMPv6)
}

// PortRange is a port, or those from one to another.
type PortRange struct{ First, Last uint16 }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *PortRange) UnmarshalText(text []byte) error {
	low, high, isRange := strings.Cut(string(text), "-")
	if !isRange {
		high = low
	}

	first, err := strconv.ParseUint(low, 10, 16)
	last, err2 := strconv.ParseUint(high, 10, 16)

	if err != nil || err2 != nil || first == 0 || last < first {
		return fmt.Errorf("%q is not a port (1 to 65535) or a range such as 30000-32767", text)
	}

	*p = PortRange{uint16(first), uint16(last)}

	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (p PortRange) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func (p PortRange) String() string {
	if p.First == p.Last {
		return strconv.Itoa(int(p.First))
	}

	return fmt.Sprintf("%d-%d", p.First, p.Last)
}

// Format implements value.Formatted.
func (PortRange) Format() value.Format {
	return value.Format{About: "a port or a range of ports", Example: "30000-32767", Pattern: `^[0-9]+(-[0-9]+)?$`}
}

// IngressRule is a network that packets may come from.
type IngressRule struct {
	// The network.
	Subnet netip.Prefix `yaml:"subnet" required:"true"`
	// A part of the network that is left out.
	Except netip.Prefix `yaml:"except,omitempty"`
}

var defaultAction = document.Of[NetworkDefaultActionConfig]("NetworkDefaultActionConfig", `apiVersion: v1alpha1
kind: NetworkDefaultActionConfig
ingress: block
`, document.Protects)

var networkRule = document.Of[NetworkRuleConfig]("NetworkRuleConfig", `apiVersion: v1alpha1
kind: NetworkRuleConfig
name: kubelet
portSelector:
    ports:
        - 10250
    protocol: tcp
ingress:
    - subnet: 198.51.100.0/24
      except: 198.51.100.128/25
`, document.Protects)

// Validate implements document.Validator.
func (c *NetworkRuleConfig) Validate(r *document.Report) {
	switch icmp := c.PortSelector.Protocol == ProtocolICMP || c.PortSelector.Protocol == ProtocolICMPv6; {
	case icmp && len(c.PortSelector.Ports) > 0:
		r.Wrong("portSelector.ports", "the protocol %s has no ports", c.PortSelector.Protocol)
	case !icmp && len(c.PortSelector.Ports) == 0:
		r.Wrong("portSelector.ports", "is missing: name one port at least")
	}

	for i, rule := range c.Ingress {
		if e := rule.Except; e.IsValid() && (!rule.Subnet.Contains(e.Addr()) || e.Bits() < rule.Subnet.Bits()) {
			r.Wrong(index("ingress", i)+".except", "%s is not a part of %s", e, rule.Subnet)
		}
	}
}
