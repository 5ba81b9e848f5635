// SPDX-License-Identifier: Apache-2.0

package protoenc

import (
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// wellKnown returns the codec of a T that is encoded as a well-known message.
func wellKnown[T any](put func([]byte, T) ([]byte, error), get func(parts) (T, error)) codec {
	return codec{
		wire: protowire.BytesType, message: true,
		append: func(b []byte, v reflect.Value) ([]byte, error) {
			return put(b, v.Interface().(T))
		},
		decode: func(b []byte, v reflect.Value, _ int) error {
			p, err := split(b)
			if err != nil {
				return err
			}

			t, err := get(p)
			if err != nil {
				return err
			}

			v.Set(reflect.ValueOf(t))

			return nil
		},
	}
}

// parts are the first two fields of a message.
type parts struct {
	ints  [3]uint64
	bytes [3][]byte
}

func split(b []byte) (p parts, err error) {
	err = eachField(b, func(num protowire.Number, wire protowire.Type, value []byte) error {
		if num > 2 {
			return nil
		}

		switch wire { // the well-known messages have no other types
		case protowire.VarintType:
			p.ints[num], _ = protowire.ConsumeVarint(value)
		case protowire.BytesType:
			p.bytes[num] = value
		default:
			return fmt.Errorf("field %d has wire type %d", num, wire)
		}

		return nil
	})

	return p, err
}

func appendInt(b []byte, num protowire.Number, x int64) []byte {
	if x == 0 {
		return b
	}

	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(x))
}

func appendBytes(b []byte, num protowire.Number, x []byte) []byte {
	if len(x) == 0 {
		return b
	}

	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), x)
}

var timestamp = wellKnown(
	func(b []byte, t time.Time) ([]byte, error) {
		return appendInt(appendInt(b, 1, t.Unix()), 2, int64(t.Nanosecond())), nil
	},
	func(p parts) (time.Time, error) {
		sec, nano := int64(p.ints[1]), int64(p.ints[2])

		// The range of google.protobuf.Timestamp: years 1 to 9999.
		if sec < -62135596800 || sec > 253402300799 || nano < 0 || nano >= 1e9 {
			return time.Time{}, fmt.Errorf("timestamp %d s %d ns is out of range", sec, nano)
		}

		return time.Unix(sec, nano).UTC(), nil
	},
)

var duration = wellKnown(
	func(b []byte, d time.Duration) ([]byte, error) {
		return appendInt(appendInt(b, 1, int64(d/time.Second)), 2, int64(d%time.Second)), nil
	},
	func(p parts) (time.Duration, error) {
		sec, nano := int64(p.ints[1]), int64(p.ints[2])

		const most = int64(1<<63-1) / int64(time.Second)
		if sec <= -most || sec >= most || nano <= -1e9 || nano >= 1e9 {
			return 0, fmt.Errorf("duration %d s %d ns is out of range", sec, nano)
		}

		return time.Duration(sec)*time.Second + time.Duration(nano), nil
	},
)

var addr = wellKnown(
	func(b []byte, a netip.Addr) ([]byte, error) { return appendAddr(b, a) },
	func(p parts) (netip.Addr, error) { return addrOf(p.bytes[1]) },
)

func appendAddr(b []byte, a netip.Addr) ([]byte, error) {
	raw, err := a.MarshalBinary()

	return appendBytes(b, 1, raw), err
}

func addrOf(b []byte) (netip.Addr, error) {
	var a netip.Addr
	if err := a.UnmarshalBinary(b); err != nil {
		return a, fmt.Errorf("address of %d bytes: %w", len(b), err)
	}

	return a, nil
}

var addrPort = wellKnown(
	func(b []byte, a netip.AddrPort) ([]byte, error) {
		b, err := appendAddr(b, a.Addr())

		return appendInt(b, 2, int64(a.Port())), err
	},
	func(p parts) (netip.AddrPort, error) {
		a, err := addrOf(p.bytes[1])
		if err != nil {
			return netip.AddrPort{}, err
		}

		if p.ints[2] > 65535 {
			return netip.AddrPort{}, fmt.Errorf("port %d is out of range", p.ints[2])
		}

		return netip.AddrPortFrom(a, uint16(p.ints[2])), nil
	},
)

var prefix = wellKnown(
	func(b []byte, p netip.Prefix) ([]byte, error) {
		b, err := appendAddr(b, p.Addr())

		return appendInt(b, 2, int64(p.Bits())), err
	},
	func(p parts) (netip.Prefix, error) {
		a, err := addrOf(p.bytes[1])
		if err != nil || !a.IsValid() {
			return netip.Prefix{}, err
		}

		if p.ints[2] > uint64(a.BitLen()) {
			return netip.Prefix{}, fmt.Errorf("prefix length %d is out of range for %s", int64(p.ints[2]), a)
		}

		return netip.PrefixFrom(a.WithZone(""), int(p.ints[2])), nil
	},
)

var urlPath = wellKnown(
	func(b []byte, u url.URL) ([]byte, error) { return appendBytes(b, 1, []byte(u.String())), nil },
	func(p parts) (url.URL, error) {
		u, err := url.Parse(string(p.bytes[1]))
		if err != nil {
			return url.URL{}, err
		}

		return *u, nil
	},
)
