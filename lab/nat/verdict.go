// SPDX-License-Identifier: Apache-2.0

package nat

// Direction of a packet.
type Direction int

// The directions.
const (
	Outbound Direction = iota // from inside
	Inbound                   // from outside, to the external address
)

// Verdict is what becomes of a packet.
type Verdict int

// The verdicts. Those after Local drop the packet.
const (
	// Pass sends the packet on in its direction.
	Pass Verdict = iota
	// Turn sends an outbound packet back inside: it was hairpinned.
	Turn
	// Local leaves an echo request to the external address to whoever has that
	// address.
	Local
	// Malformed packets are broken or too short.
	Malformed
	// Unsupported protocols are not translated.
	Unsupported
	// NoMapping has the packet's external endpoint, or its TCP segment belongs to
	// no connection.
	NoMapping
	// Filtered packets come from a remote endpoint that is not let in.
	Filtered
	// Exhausted are the ports or the sessions.
	Exhausted
	// NoHairpin is done by this NAT.
	NoHairpin
	// FragmentAlone came without the first fragment before it.
	FragmentAlone

	verdicts = iota
)

// Dropped reports whether the packet goes nowhere.
func (v Verdict) Dropped() bool { return v > Local }

func (v Verdict) String() string {
	return [verdicts]string{
		"pass", "turn", "local", "malformed", "unsupported protocol", "no mapping", "filtered", "exhausted", "no hairpin",
		"fragment without its first",
	}[v]
}
