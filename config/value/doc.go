// SPDX-License-Identifier: Apache-2.0

// Package value has the types of values in documents. Each reads itself from text and says what is wrong with it, so that the decoder
// names the line, and implements Format, by which the reference and the JSON schema describe it.
package value

// Format describes the texts of a type.
type Format struct {
	About   string // "a hostname"
	Example string
	// Pattern is a regular expression for the JSON schema; nothing if none tells valid texts apart.
	Pattern string
}

// Formatted is a type with a Format, which does not depend on the value.
type Formatted interface{ Format() Format }
