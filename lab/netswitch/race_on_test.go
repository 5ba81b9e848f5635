// SPDX-License-Identifier: Apache-2.0

//go:build race

package netswitch

// raceSlowdown is what the race detector costs the switch, with room to spare.
const raceSlowdown = 20
