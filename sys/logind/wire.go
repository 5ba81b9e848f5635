// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logind

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/godbus/dbus/v5"
)

// maxMessage is the largest message of a client in bytes.
const maxMessage = 64 << 10

// headSize is the size in bytes of the fixed part of a header, before its fields.
const headSize = 16

// message is a message of a client, as far as it is used here: all supported calls take strings
// (https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol). The decoder of godbus is not used, because it allocates as
// much memory as a length in the message says.
type message struct {
	kind          dbus.Type
	flags         dbus.Flags
	serial        uint32
	iface, member string
	signature     string
	args          []string // nil if not all arguments are strings
}

// errMessage is the error of a message that cannot be decoded.
var errMessage = errors.New("not a message of D-Bus")

// readMessage returns the next message.
func readMessage(in *bufio.Reader) (message, error) {
	head := make([]byte, headSize)
	if _, err := io.ReadFull(in, head); err != nil {
		return message{}, err
	}

	var order binary.ByteOrder

	switch head[0] {
	case 'l':
		order = binary.LittleEndian
	case 'B':
		order = binary.BigEndian
	default:
		return message{}, fmt.Errorf("%w: byte order %q", errMessage, head[0])
	}

	m := message{kind: dbus.Type(head[1]), flags: dbus.Flags(head[2]), serial: order.Uint32(head[8:])}
	body, fields := uint64(order.Uint32(head[4:])), uint64(order.Uint32(head[12:]))
	padded := (fields + 7) &^ 7

	if padded+body > maxMessage {
		return message{}, fmt.Errorf("%w: longer than %d bytes", errMessage, maxMessage)
	}

	rest := make([]byte, padded+body)
	if _, err := io.ReadFull(in, rest); err != nil {
		return message{}, err
	}

	// The fields and the body begin at a multiple of eight.
	if err := m.readFields(&values{data: rest[:fields], order: order}); err != nil {
		return message{}, err
	}

	return m, m.readArgs(&values{data: rest[padded:], order: order})
}

// readFields reads an array of structures of a number and a variant.
func (m *message) readFields(v *values) error {
	for v.err == nil && v.at < len(v.data) {
		v.align(8)

		field := dbus.HeaderField(v.byte())

		switch kind := v.signature(); kind {
		case "s", "o":
			text := v.string()

			switch field {
			case dbus.FieldInterface:
				m.iface = text
			case dbus.FieldMember:
				m.member = text
			}
		case "g":
			text := v.signature()
			if field == dbus.FieldSignature {
				m.signature = text
			}
		case "u":
			v.uint32()
		default:
			return fmt.Errorf("%w: header field %d of type %q", errMessage, field, kind)
		}
	}

	return v.err
}

func (m *message) readArgs(v *values) error {
	args := make([]string, 0, len(m.signature))

	for _, kind := range m.signature {
		if kind != 's' && kind != 'o' {
			return nil
		}

		args = append(args, v.string())
	}

	m.args = args

	return v.err
}

// values decodes one value after the other. After an error all values are empty.
type values struct {
	data  []byte
	at    int
	order binary.ByteOrder
	err   error
}

func (v *values) take(n int) []byte {
	if v.err == nil && (n < 0 || n > len(v.data)-v.at) {
		v.err = fmt.Errorf("%w: it ends at byte %d, and %d more are needed", errMessage, len(v.data), n)
	}

	if v.err != nil {
		return nil
	}

	v.at += n

	return v.data[v.at-n : v.at]
}

func (v *values) align(to int) { v.take(-v.at & (to - 1)) }

func (v *values) byte() byte {
	if b := v.take(1); b != nil {
		return b[0]
	}

	return 0
}

func (v *values) uint32() uint32 {
	v.align(4)

	if b := v.take(4); b != nil {
		return v.order.Uint32(b)
	}

	return 0
}

// text returns a text of n bytes, which a zero byte follows.
func (v *values) text(n int) string {
	if b := v.take(n + 1); b != nil {
		return string(b[:n])
	}

	return ""
}

func (v *values) string() string    { return v.text(int(v.uint32())) }
func (v *values) signature() string { return v.text(int(v.byte())) }
