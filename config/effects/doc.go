// SPDX-License-Identifier: Apache-2.0

// Package effects knows which keys of a configuration do something in this version.
//
// Every key that existing configurations may carry is accepted, but not all have their effect yet. None is
// ignored in silence: Warnings names what a configuration sets in vain, and the machine returns that when
// the configuration is applied. The table is in table.go, two lists of paths; when the part of the system
// behind a key is built, its line moves from one list to the other. The longest path that is a key's
// prefix decides. A test holds that every key is covered.
package effects
