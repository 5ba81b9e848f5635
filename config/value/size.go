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

// units are the suffixes of sizes.
var units = map[string]uint64{
	"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "PiB": 1 << 50,
	"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
}

var errSize = errors.New("want a number with a unit such as MB, GiB or TB")

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *ByteSize) UnmarshalText(text []byte) error {
	at := strings.IndexFunc(string(text), func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if at < 0 {
		at = len(text)
	}

	unit, known := units[strings.TrimSpace(string(text[at:]))]
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

// MarshalText implements encoding.TextMarshaler: in the largest unit in which the number is whole.
func (s ByteSize) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s ByteSize) String() string {
	for _, unit := range []string{"PiB", "TiB", "GiB", "MiB", "KiB", "PB", "TB", "GB", "MB", "kB"} {
		if n := units[unit]; s > 0 && uint64(s)%n == 0 {
			return strconv.FormatUint(uint64(s)/n, 10) + unit
		}
	}

	return strconv.FormatUint(uint64(s), 10)
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
