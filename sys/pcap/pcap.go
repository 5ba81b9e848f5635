// SPDX-License-Identifier: Apache-2.0

// Package pcap captures the packets of a link and writes them as a capture file, the classic one that every tool reads.
// For captures of several links there is the newer format, pcapng (Ng), whose files can be joined while they are written
// (NgJoin). Both are a few dozen bytes, which no library is needed for: those that exist bring the decoding of every
// protocol with them.
package pcap

import (
	"encoding/binary"
	"time"
)

const (
	magicNanoseconds = 0xa1b23c4d
	versionMajor     = 2
	versionMinor     = 4
)

// LinkType says what a packet begins with.
type LinkType uint32

// The link types that occur here; the numbers are those of tcpdump.org/linktypes.html.
const (
	Ethernet LinkType = 1
	// Raw packets begin with the header of IPv4 or IPv6: links of tunnels have no other.
	Raw LinkType = 101
)

// DefaultSnapLen is what is kept of a packet when nothing else is asked for; MaxSnapLen is the most.
const (
	DefaultSnapLen = 68 << 10
	MaxSnapLen     = 256 << 10
)

// Header of a file.
func Header(link LinkType, snapLen uint32) []byte {
	b := make([]byte, 0, 24)
	b = binary.LittleEndian.AppendUint32(b, magicNanoseconds)
	b = binary.LittleEndian.AppendUint16(b, versionMajor)
	b = binary.LittleEndian.AppendUint16(b, versionMinor)
	b = append(b, make([]byte, 8)...) // offset from UTC, and accuracy: zero in every file there is
	b = binary.LittleEndian.AppendUint32(b, snapLen)

	return binary.LittleEndian.AppendUint32(b, uint32(link))
}

// Append adds a packet, of which data is as much as was kept, to a file.
func Append(file []byte, at time.Time, data []byte, length int) []byte {
	file = binary.LittleEndian.AppendUint32(file, uint32(at.Unix()))
	file = binary.LittleEndian.AppendUint32(file, uint32(at.Nanosecond()))
	file = binary.LittleEndian.AppendUint32(file, uint32(len(data)))
	file = binary.LittleEndian.AppendUint32(file, uint32(length))

	return append(file, data...)
}
