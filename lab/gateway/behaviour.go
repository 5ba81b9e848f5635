// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

// DHCPBehaviour is how the DHCP server behaves. The zero value is a healthy one.
type DHCPBehaviour struct {
	// Silent sends no answers.
	Silent bool `json:",omitempty"`
	// StopAfter is the number of answers after which the server becomes silent; zero means unlimited. The count starts when
	// the behaviour is set.
	StopAfter int `json:",omitempty"`
	// Delay is how long each answer takes.
	Delay time.Duration `json:",omitempty"`
	// RefuseRequests answers each REQUEST with a NAK.
	RefuseRequests bool `json:",omitempty"`
	// NoRouter leaves out the default router; Router announces another one.
	NoRouter bool       `json:",omitempty"`
	Router   netip.Addr `json:",omitzero"`
	// ServerID is announced as the server's identifier instead of its address.
	ServerID netip.Addr `json:",omitzero"`
	// Addr is leased to every client, even if another one has it.
	Addr netip.Addr `json:",omitzero"`
	// LeaseTime replaces Config.LeaseTime, in whole seconds.
	LeaseTime time.Duration `json:",omitempty"`
	// HostNames are sent instead of the host's name: with each ACK the next one, and after the last the first again.
	HostNames []string `json:",omitempty"`
}

// DHCPv6Behaviour is how the DHCPv6 server behaves. The zero value is a healthy one.
type DHCPv6Behaviour struct {
	Silent    bool          `json:",omitempty"`
	StopAfter int           `json:",omitempty"`
	Delay     time.Duration `json:",omitempty"`
	// Stateless leases no addresses: it answers information requests only.
	Stateless bool `json:",omitempty"`
	// NoAddresses answers that no address is available.
	NoAddresses bool `json:",omitempty"`
	// NoRapidCommit answers a SOLICIT always with an ADVERTISE.
	NoRapidCommit bool `json:",omitempty"`
	// LeaseTime is the valid lifetime, instead of Config.LeaseTime.
	LeaseTime time.Duration `json:",omitempty"`
}

// DNSBehaviour is how the DNS server behaves. The zero value is a healthy one.
type DNSBehaviour struct {
	Silent bool          `json:",omitempty"`
	Delay  time.Duration `json:",omitempty"`
	// Rcode answers every question with this code, such as "SERVFAIL" or "REFUSED".
	Rcode string `json:",omitempty"`
	// Truncate answers over UDP with the TC bit and no records, so that clients must use TCP.
	Truncate bool `json:",omitempty"`
}

// NTPBehaviour is how the NTP server behaves. The zero value is a healthy server of stratum 1 with this computer's
// time.
type NTPBehaviour struct {
	Silent bool          `json:",omitempty"`
	Delay  time.Duration `json:",omitempty"`
	// Offset is how far the server's clock is ahead of this computer's.
	Offset time.Duration `json:",omitempty"`
	// Drift is how many seconds the server's clock gains each second after the behaviour was set; 0.0001 is 100 ppm
	// fast.
	Drift float64 `json:",omitempty"`
	// Kiss answers with a kiss-o'-death of this code: "DENY", "RATE" or "RSTR" (RFC 5905, 7.4).
	Kiss string `json:",omitempty"`
	// Leap is the leap indicator: 1 announces a 61st second, 2 a missing one, 3 an unsynchronized clock.
	Leap uint8 `json:",omitempty"`
	// Stratum is 1 if zero; 16 is an unsynchronized server.
	Stratum uint8 `json:",omitempty"`
}

// MetadataBehaviour is how the metadata server behaves. The zero value is a healthy one.
type MetadataBehaviour struct {
	// Silent accepts connections and sends no answers.
	Silent bool          `json:",omitempty"`
	Delay  time.Duration `json:",omitempty"`
	// Status answers every request with this HTTP status.
	Status int `json:",omitempty"`
}

// Validate returns an error for a behaviour that is not possible.
func (b DHCPBehaviour) Validate() error {
	if err := checkDHCP("DHCP", b.Delay, b.StopAfter, b.LeaseTime); err != nil {
		return err
	}

	for what, addr := range map[string]netip.Addr{"router": b.Router, "server identifier": b.ServerID, "address": b.Addr} {
		if addr.IsValid() && !addr.Is4() {
			return fmt.Errorf("DHCP behaviour: %s %v is not an IPv4 address", what, addr)
		}
	}

	if b.NoRouter && b.Router.IsValid() {
		return fmt.Errorf("DHCP behaviour: router %v with no router", b.Router)
	}

	return nil
}

// Validate returns an error for a behaviour that is not possible.
func (b DHCPv6Behaviour) Validate() error {
	return checkDHCP("DHCPv6", b.Delay, b.StopAfter, b.LeaseTime)
}

func checkDHCP(protocol string, delay time.Duration, stopAfter int, lease time.Duration) error {
	if delay < 0 || stopAfter < 0 {
		return fmt.Errorf("%s behaviour: delay %v or stop after %d is negative", protocol, delay, stopAfter)
	}

	if lease < 0 || lease%time.Second != 0 || lease > maxLease {
		return fmt.Errorf("%s behaviour: lease time %v is not whole seconds from 0 to %v", protocol, lease, maxLease)
	}

	return nil
}

// Validate returns an error for a behaviour that is not possible.
func (b DNSBehaviour) Validate() error {
	if b.Delay < 0 {
		return fmt.Errorf("DNS behaviour: delay %v is negative", b.Delay)
	}

	if _, ok := dns.StringToRcode[b.Rcode]; !ok && b.Rcode != "" {
		return fmt.Errorf("DNS behaviour: unknown response code %q, want one like SERVFAIL", b.Rcode)
	}

	return nil
}

// Validate returns an error for a behaviour that is not possible.
func (b NTPBehaviour) Validate() error {
	switch {
	case b.Delay < 0:
		return fmt.Errorf("NTP behaviour: delay %v is negative", b.Delay)
	case b.Kiss != "" && len(b.Kiss) != 4:
		return fmt.Errorf("NTP behaviour: kiss code %q is not four characters, like RATE", b.Kiss)
	case b.Leap > 3:
		return fmt.Errorf("NTP behaviour: leap indicator %d is out of range (0 to 3)", b.Leap)
	case b.Stratum > 16:
		return fmt.Errorf("NTP behaviour: stratum %d is out of range (1 to 16)", b.Stratum)
	case !(b.Drift >= -1 && b.Drift <= 1): // NaN too
		return fmt.Errorf("NTP behaviour: drift %g is out of range (-1 to 1)", b.Drift)
	}

	return nil
}

// Validate returns an error for a behaviour that is not possible.
func (b MetadataBehaviour) Validate() error {
	if b.Delay < 0 {
		return fmt.Errorf("metadata behaviour: delay %v is negative", b.Delay)
	}

	if b.Status != 0 && (b.Status < 200 || b.Status > 599) {
		return fmt.Errorf("metadata behaviour: HTTP status %d is out of range (200 to 599)", b.Status)
	}

	return nil
}
