// SPDX-License-Identifier: Apache-2.0

//go:build !race

package netswitch

const raceSlowdown = 1
