// SPDX-License-Identifier: Apache-2.0

// Package dnsname validates names of hosts and domains from the network. They are written to files such as /etc/resolv.conf, in which a
// line break or a space would begin another setting.
package dnsname

import "strings"

// maxLength is the longest name in text form (RFC 1035, 2.3.4).
const maxLength = 253

// Trim removes the zeros, dots and spaces at the end of the names that some servers send.
func Trim(s string) string { return strings.TrimRight(s, "\x00. ") }

// Valid reports whether s is a name of letters, digits, hyphens, underscores and dots.
func Valid(s string) bool {
	if s == "" || len(s) > maxLength {
		return false
	}

	for _, c := range []byte(s) {
		if c != '.' && c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}

	return true
}
