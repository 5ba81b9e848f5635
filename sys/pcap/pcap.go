// SPDX-License-Identifier: Apache-2.0

// Package pcap captures the packets of a link and writes them as a capture file in the classic format, which every tool reads. Captures
// of several links use the newer format, pcapng (Ng), whose files can be joined while they are written (NgJoin). Both headers are a
// few dozen bytes. The existing libraries were rejected: they contain decoders for every protocol.
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

// LinkType is the kind of header that a packet begins with.
type LinkType uint32

// The link types in use; the numbers are those of tcpdump.org/linktypes.html.
const (
	Ethernet LinkType = 1
	// Raw packets begin with the header of IPv4 or IPv6, as on tunnels.
	Raw LinkType = 101
)

// DefaultSnapLen is how many bytes of a packet are kept by default; MaxSnapLen is the maximum.
const (
	DefaultSnapLen = 68 << 10
	MaxSnapLen     = 256 << 10
)

// Header returns the header of a file.
func Header(link LinkType, snapLen uint32) []byte {
	b := make([]byte, 0, 24)
	b = binary.LittleEndian.AppendUint32(b, magicNanoseconds)
	b = binary.LittleEndian.AppendUint16(b, versionMajor)
	b = binary.LittleEndian.AppendUint16(b, versionMinor)
	b = append(b, make([]byte, 8)...) // offset from UTC, and accuracy: always zero
	b = binary.LittleEndian.AppendUint32(b, snapLen)

	return binary.LittleEndian.AppendUint32(b, uint32(link))
}

// Append adds a packet to a file: data is the part that was kept, length the size of the whole packet.
func Append(file []byte, at time.Time, data []byte, length int) []byte {
	file = binary.LittleEndian.AppendUint32(file, uint32(at.Unix()))
	file = binary.LittleEndian.AppendUint32(file, uint32(at.Nanosecond()))
	file = binary.LittleEndian.AppendUint32(file, uint32(len(data)))
	file = binary.LittleEndian.AppendUint32(file, uint32(length))

	return append(file, data...)
}
