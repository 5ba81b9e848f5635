// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"sync/atomic"
	"time"
)

// setting is a value that changes while services read it, with counters that start at the change.
type setting[T any] struct{ current atomic.Pointer[since[T]] }

type since[T any] struct {
	value   T
	from    time.Time
	answers atomic.Int64 // how many were sent
	acks    atomic.Int64 // how many of them were a DHCP ACK
}

func (s *setting[T]) set(value T)    { s.current.Store(&since[T]{value: value, from: time.Now()}) }
func (s *setting[T]) get() *since[T] { return s.current.Load() }

// mayAnswer counts an answer, and reports whether it may be sent. Limit is how many answers are sent; zero means unlimited.
func (s *since[T]) mayAnswer(limit int) bool {
	return s.answers.Add(1) <= int64(limit) || limit == 0
}

// change sets a behaviour if it is valid.
func change[T interface{ Validate() error }](s *setting[T], value T) error {
	if err := value.Validate(); err != nil {
		return err
	}

	s.set(value)

	return nil
}

// SetDHCP changes the behaviour of the DHCP server.
func (g *Gateway) SetDHCP(b DHCPBehaviour) error { return change(&g.dhcp, b) }

// SetDHCPv6 changes the behaviour of the DHCPv6 server.
func (g *Gateway) SetDHCPv6(b DHCPv6Behaviour) error { return change(&g.dhcpv6, b) }

// SetDNS changes the behaviour of the DNS server.
func (g *Gateway) SetDNS(b DNSBehaviour) error { return change(&g.dns, b) }

// SetNTP changes the behaviour of the NTP server.
func (g *Gateway) SetNTP(b NTPBehaviour) error { return change(&g.ntp, b) }

// SetMetadata changes the behaviour of the metadata server.
func (g *Gateway) SetMetadata(b MetadataBehaviour) error { return change(&g.metadata, b) }
