// SPDX-License-Identifier: Apache-2.0

// Package effects lists the keys of a configuration that have no effect in this version.
//
// Every key of existing configurations is accepted, but not all have an effect yet. Warnings names the keys
// without effect that a configuration sets, and the machine returns them when the configuration is applied. The
// list is not written by hand: package derive finds the keys that no code reads (unread.txt), and a test checks
// that the list is current. For a few keys the source is misleading: they are in exceptions.go, each with the reason.
package effects
