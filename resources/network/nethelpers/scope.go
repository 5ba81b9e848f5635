// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// Scope is how far an address or route is valid, numbered as the kernel does.
type Scope uint8

// The scopes.
const (
	ScopeGlobal  Scope = 0
	ScopeSite    Scope = 200
	ScopeLink    Scope = 253
	ScopeHost    Scope = 254
	ScopeNowhere Scope = 255
)

var scopeNames = enum.Names[Scope]{
	ScopeGlobal:  "global",
	ScopeSite:    "site",
	ScopeLink:    "link",
	ScopeHost:    "host",
	ScopeNowhere: "nowhere",
}

func (s Scope) String() string                   { return scopeNames.Text(s) }
func (s Scope) MarshalText() ([]byte, error)     { return scopeNames.Marshal(s) }
func (s *Scope) UnmarshalText(text []byte) error { return scopeNames.Parse("scope", text, s) }
