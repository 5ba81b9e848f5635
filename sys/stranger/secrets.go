// SPDX-License-Identifier: Apache-2.0

//go:build linux

package stranger

import (
	"encoding/base64"
	"encoding/pem"
	"maps"
	"strings"
)

// Forms returns the values by name, together with their other forms: base64, and the content of a PEM block.
func Forms(values map[string]string) map[string]string {
	out := maps.Clone(values)

	for name, value := range values {
		out[name+", base64"] = strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(value)), "=")

		if block, _ := pem.Decode([]byte(value)); block != nil {
			out[name+", DER"] = string(block.Bytes)
			out[name+", body"] = base64.StdEncoding.EncodeToString(block.Bytes)[:40]
		}
	}

	maps.DeleteFunc(out, func(_, value string) bool { return value == "" }) // nothing to look for

	return out
}
