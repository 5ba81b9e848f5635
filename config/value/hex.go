// SPDX-License-Identifier: Apache-2.0

package value

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// HexBytes are bytes in hexadecimal digits.
type HexBytes []byte

// UnmarshalText implements encoding.TextUnmarshaler. Colons between the bytes are left out.
func (b *HexBytes) UnmarshalText(text []byte) error {
	bytes, err := hex.DecodeString(strings.ReplaceAll(string(text), ":", ""))
	if err != nil {
		return fmt.Errorf("%q is not hexadecimal: want two digits for each byte, such as 00:01:a2", text)
	}

	*b = bytes

	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (b HexBytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(b)), nil }

// Format implements Formatted.
func (HexBytes) Format() Format { return Format{About: "bytes in hexadecimal", Example: "00:01:a2"} }
