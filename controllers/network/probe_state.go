// SPDX-License-Identifier: Apache-2.0

package network

import (
	"regexp"

	"github.com/seed-59268b81/talos/resources/network"
)

// probeState is the state machine of a probe:
//
//	          success                 success
//	pending ──────────▶ succeeded ◀──────────── failed
//	   │                    │                     ▲
//	   │                    │ threshold failures  │
//	   │                    └─────────────────────┤
//	   └──────── threshold failures ──────────────┘
type probeState struct {
	known    bool // not pending
	failures int  // in a row
	status   network.ProbeStatusSpec
}

// next returns the state after an attempt, and whether the status is another one.
func (s probeState) next(err error, threshold int) (next probeState, changed bool) {
	next = s

	if err == nil {
		next.failures, next.known, next.status = 0, true, network.ProbeStatusSpec{Success: true}
	} else if next.failures = min(s.failures+1, threshold); next.failures >= threshold {
		next.known, next.status = true, network.ProbeStatusSpec{LastError: ownPort.ReplaceAllString(err.Error(), "")}
	}

	return next, next.known != s.known || next.status != s.status
}

// ownPort matches the machine's end of a connection in an error of package net. Each attempt has another one, which would make each failure
// news.
var ownPort = regexp.MustCompile(`\S+:\d+->`)
