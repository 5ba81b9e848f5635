// SPDX-License-Identifier: Apache-2.0

package value

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ByteSize is a number of bytes: 1048576, 100MB, 10GiB.
type ByteSize uint64

// units are the suffixes of sizes, in lower case.
var units = map[string]uint64{
	"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "pb": 1e15,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40, "pib": 1 << 50,
	"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40, "pi": 1 << 50,
}

var errSize = errors.New("want a number with a unit such as MB, GiB or TB")

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *ByteSize) UnmarshalText(text []byte) error {
	at := strings.IndexFunc(string(text), func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if at < 0 {
		at = len(text)
	}

	unit, known := units[strings.ToLower(strings.TrimSpace(string(text[at:])))]
	number, err := strconv.ParseFloat(string(text[:at]), 64)

	if !known || err != nil || number*float64(unit) >= math.MaxUint64 {
		return fmt.Errorf("%q is not a size: %w", text, errSize)
	}

	// A whole number may be more exact than its product as a float.
	if whole, err := strconv.ParseUint(string(text[:at]), 10, 64); err == nil {
		*s = ByteSize(whole * unit)
	} else {
		*s = ByteSize(number * float64(unit))
	}

	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (s ByteSize) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String returns the size as the smallest whole number of a unit.
func (s ByteSize) String() string {
	least, of := uint64(s), ""

	for _, unit := range []string{"kB", "KiB", "MB", "MiB", "GB", "GiB", "TB", "TiB", "PB", "PiB"} {
		if n := units[strings.ToLower(unit)]; s > 0 && uint64(s)%n == 0 && uint64(s)/n < least {
			least, of = uint64(s)/n, unit
		}
	}

	return strconv.FormatUint(least, 10) + of
}

// Format implements Formatted.
func (ByteSize) Format() Format { return Format{About: "a size in bytes", Example: "10GiB"} }

// Size is a number of bytes, or a percentage of something.
type Size struct {
	Bytes   ByteSize
	Percent uint8 // 0 if the size is in bytes
	// Negative is set if the size is what is left over: -10GiB, -5%.
	Negative bool
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Size) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = Size{}

		return nil
	}

	rest, negative := strings.CutPrefix(string(text), "-")

	if digits, ok := strings.CutSuffix(rest, "%"); ok {
		percent, err := strconv.ParseUint(digits, 10, 8)
		if err != nil || percent == 0 || percent > 100 {
			return fmt.Errorf("%q is not a percentage: want 1%% to 100%%", text)
		}

		*s = Size{Percent: uint8(percent), Negative: negative}

		return nil
	}

	var bytes ByteSize
	if err := bytes.UnmarshalText([]byte(rest)); err != nil {
		return fmt.Errorf("%q is not a size: %w, or a percentage", text, errSize)
	}

	*s = Size{Bytes: bytes, Negative: negative}

	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (s Size) MarshalText() ([]byte, error) {
	text := s.Bytes.String()
	if s.Percent > 0 {
		text = strconv.Itoa(int(s.Percent)) + "%"
	}

	if s.Negative {
		text = "-" + text
	}

	return []byte(text), nil
}

// IsZero reports whether no size is set.
func (s Size) IsZero() bool { return s == Size{} }

// Format implements Formatted.
func (Size) Format() Format { return Format{About: "a size in bytes, or a percentage", Example: "80%"} }
