// SPDX-License-Identifier: Apache-2.0

// Package capture is "talosctl pcap". It parses filters as tcpdump -dd prints them, and describes each packet in a line. Packets come from
// a network, so their contents are not trusted.
package capture
