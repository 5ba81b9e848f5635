// SPDX-License-Identifier: Apache-2.0

// Package effects knows which keys of a configuration do something in this version.
//
// Every key that existing configurations may carry is accepted, but not all have their effect yet. None is
// ignored in silence: Warnings names what a configuration sets in vain, and the machine returns that when
// the configuration is applied. Which keys these are is not written by hand: package derive finds in the
// source those that no code reads (unread.txt), and a test holds that the list is current. The few keys of
// which the source does not tell the truth are in exceptions.go, each with the reason.
package effects
