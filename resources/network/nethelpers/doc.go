// SPDX-License-Identifier: Apache-2.0

// Package nethelpers holds the enumerations of network resources: families, scopes, link types, operational states
// etc. Each is a number, the kernel's or the wire's, with the text form that users know from iproute2. A number without a name prints in
// decimal and reads back.
//
// The package uses no kernel interface: it has only numbers and names.
package nethelpers
