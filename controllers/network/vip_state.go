// SPDX-License-Identifier: Apache-2.0

package network

// vipPhase is the state of a virtual address on this machine. It is a state machine without a clock, a network or a goroutine; its
// scripts are in testdata/vip. An address is
//
//	         ready                won                  not ready, or lost
//	waiting ───────▶ campaigning ─────▶ holding ─────────────────────────────▶ leaving
//	  ▲                 │    ▲                                                  │   │
//	  ├──── not ready ──┘    └── the kernel does not have it any more: ready ───┘   │
//	  └───────────────────────── the kernel does not have it any more: not ready ───┘
//
// The election goes on until the kernel does not have the address: two machines never have it because of a slow one.
type vipPhase string

// The phases.
const (
	vipWaiting     vipPhase = "waiting"
	vipCampaigning vipPhase = "campaigning"
	vipHolding     vipPhase = "holding"
	vipLeaving     vipPhase = "leaving"
)

// vipAction is what must be done.
type vipAction string

// The actions.
const (
	vipNothing vipAction = ""
	// vipCampaign takes part in the election.
	vipCampaign vipAction = "campaign"
	// vipYield lets another machine win, and goes on campaigning.
	vipYield vipAction = "yield"
	// vipAbandon leaves the election.
	vipAbandon vipAction = "abandon"
)

// vipLook is what the state machine sees.
type vipLook struct {
	// obstacle is why this machine cannot have the address, or "".
	obstacle string
	// won is whether the election is won.
	won bool
	// present is whether the kernel has the address.
	present bool
}

// next returns the next phase, and what to do.
func (p vipPhase) next(look vipLook) (vipPhase, vipAction) {
	ready := look.obstacle == ""

	switch {
	case p == vipWaiting && ready:
		return vipCampaigning, vipCampaign
	case p == vipCampaigning && !ready:
		return vipWaiting, vipAbandon
	case p == vipCampaigning && look.won:
		return vipHolding, vipNothing
	case p == vipHolding && (!ready || !look.won):
		return vipLeaving, vipNothing
	case p == vipLeaving && !look.present && ready:
		return vipCampaigning, vipYield
	case p == vipLeaving && !look.present:
		return vipWaiting, vipAbandon
	default:
		return p, vipNothing
	}
}
