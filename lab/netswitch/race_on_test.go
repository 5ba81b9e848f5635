// SPDX-License-Identifier: Apache-2.0

//go:build race

package netswitch

// raceSlowdown is the slowdown by the race detector, with some reserve.
const raceSlowdown = 20
