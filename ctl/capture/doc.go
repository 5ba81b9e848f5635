// SPDX-License-Identifier: Apache-2.0

// Package capture reads what packet captures are made of: filters as tcpdump -dd prints them, and packets, which it
// describes in a line each. The packets come from a network, so nothing in them is taken for granted.
package capture
