// SPDX-License-Identifier: Apache-2.0

package pcap

import (
	"encoding/binary"
	"time"
)

// Blocks and options of a pcapng file (https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/), which holds the packets of
// several named links.
const (
	ngSection   = 0x0a0d0d0a
	ngInterface = 1
	ngPacket    = 6

	ngByteOrder  = 0x1a2b3c4d
	ngEnd        = 0
	ngName       = 2 // of an interface
	ngResolution = 9 // of an interface's times
	ngFlags      = 2 // of a packet

	nanoseconds = 9 // as a negative power of ten
)

// Direction of a packet, as seen from the interface.
type Direction uint32

// The directions of a packet.
const (
	Unknown  Direction = 0
	Inbound  Direction = 1
	Outbound Direction = 2
)

// NgHeader returns the header of a pcapng file.
func NgHeader() []byte {
	b := binary.LittleEndian.AppendUint32(nil, ngByteOrder)
	b = binary.LittleEndian.AppendUint16(b, 1)
	b = binary.LittleEndian.AppendUint16(b, 0)

	return appendBlock(nil, ngSection, binary.LittleEndian.AppendUint64(b, 1<<64-1)) // of unknown length
}

// AppendNgInterface adds an interface to a pcapng file. Interfaces are numbered from 0.
func AppendNgInterface(file []byte, name string, link LinkType, snapLen uint32) []byte {
	b := binary.LittleEndian.AppendUint16(nil, uint16(link))
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint32(b, snapLen)
	b = appendOption(b, ngName, []byte(name))
	b = appendOption(b, ngResolution, []byte{nanoseconds})
	b = appendOption(b, ngEnd, nil)

	return appendBlock(file, ngInterface, b)
}

// AppendNg adds a packet of an interface to a pcapng file: data is the part that was kept, length the size of the whole packet.
func AppendNg(file []byte, number int, at time.Time, direction Direction, data []byte, length int) []byte {
	ns := uint64(at.UnixNano())
	b := make([]byte, 0, 36+len(data))
	b = binary.LittleEndian.AppendUint32(b, uint32(number))
	b = binary.LittleEndian.AppendUint32(b, uint32(ns>>32))
	b = binary.LittleEndian.AppendUint32(b, uint32(ns))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint32(b, uint32(length))
	b = pad(append(b, data...))
	b = appendOption(b, ngFlags, binary.LittleEndian.AppendUint32(nil, uint32(direction)))
	b = appendOption(b, ngEnd, nil)

	return appendBlock(file, ngPacket, b)
}

func appendOption(b []byte, code uint16, value []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))

	return pad(append(b, value...))
}

// appendBlock adds a block, with its length before and after it.
func appendBlock(file []byte, kind uint32, body []byte) []byte {
	const around = 12

	size := uint32(len(body) + around)
	file = binary.LittleEndian.AppendUint32(file, kind)
	file = binary.LittleEndian.AppendUint32(file, size)

	return binary.LittleEndian.AppendUint32(append(file, body...), size)
}

// pad fills up to a multiple of four bytes.
func pad(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }
