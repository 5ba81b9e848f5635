// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// number is an id that some clouds write as a number and others as a text, with all its digits.
type number string

// String returns the digits.
func (n number) String() string { return string(n) }

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(n))
	}

	if bytes.Equal(b, []byte("null")) {
		return nil
	}

	if _, err := strconv.ParseFloat(string(b), 64); err != nil {
		return fmt.Errorf("%q is not a number", b)
	}

	*n = number(b)

	return nil
}
