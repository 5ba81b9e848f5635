// SPDX-License-Identifier: Apache-2.0

package nat

// Direction of a packet.
type Direction int

// The directions.
const (
	Outbound Direction = iota // from inside
	Inbound                   // from outside, to the external address
)

// Verdict is how a packet is treated.
type Verdict int

// The verdicts. Those after Local drop the packet.
const (
	// Pass sends the packet on in its direction.
	Pass Verdict = iota
	// Turn sends an outbound packet back inside (hairpinning).
	Turn
	// Local leaves an echo request for the external address to the router.
	Local
	// Malformed packets are invalid or too short.
	Malformed
	// Unsupported protocols are not translated.
	Unsupported
	// NoMapping means that no mapping has the packet's external endpoint, or that a TCP segment belongs to no
	// connection.
	NoMapping
	// Filtered packets come from a remote endpoint that the filter refuses.
	Filtered
	// Exhausted means that no port or session is free.
	Exhausted
	// NoHairpin means that the NAT does not hairpin.
	NoHairpin
	// FragmentAlone is a fragment that came before the first one.
	FragmentAlone

	verdicts = iota
)

// Dropped reports whether the packet is dropped.
func (v Verdict) Dropped() bool { return v > Local }

func (v Verdict) String() string {
	return [verdicts]string{
		"pass", "turn", "local", "malformed", "unsupported protocol", "no mapping", "filtered", "exhausted", "no hairpin",
		"fragment without its first",
	}[v]
}
