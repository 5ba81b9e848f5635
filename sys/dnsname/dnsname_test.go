// SPDX-License-Identifier: Apache-2.0

package dnsname

import (
	"strings"
	"testing"
)

func TestValid(t *testing.T) {
	for s, want := range map[string]bool{
		"node-1": true, "Node_1.example.com": true, strings.Repeat("a", 253): true,
		"": false, strings.Repeat("a", 254): false, "a b": false, "a\nnameserver 6.6.6.6": false, "a;": false, "ä": false, "a\x00": false,
	} {
		if got := Valid(s); got != want {
			t.Errorf("%q: got %t, want %t", s, got, want)
		}
	}
}

func TestTrim(t *testing.T) {
	for s, want := range map[string]string{"node-1\x00": "node-1", "example.com.": "example.com", "a. \x00": "a", "": "", ".": ""} {
		if got := Trim(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}
