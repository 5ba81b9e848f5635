// SPDX-License-Identifier: Apache-2.0

// Package nethelpers holds the enumerations of network resources: families, scopes, link types, operational states
// and so on. Each is a number, that of the kernel's or of the wire's, with a text form, so that resources
// print as people know them from iproute2. A number without a name prints in decimal and reads back.
//
// The package knows no kernel interface: only numbers and names.
package nethelpers
