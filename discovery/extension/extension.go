// SPDX-License-Identifier: Apache-2.0

// Package extension is what our discovery clients and services say to each other beyond the protocol. Existing clients and services
// neither send nor see it: it is in metadata and in protobuf fields that they ignore.
//
// The protocol has a watch send everything first, and each change then. With thousands of members, sending everything to everyone
// after a restart of the service would take minutes. So a client says what it already has:
//
//   - The place it has reached (KeyResume). A service that remembers that place sends what came after it.
//   - A digest of what it has (KeyDigest). Another service, or the same one after a restart, sends only those parts that differ, and
//     nothing at all if none does.
//
// A service answers in the header of the stream: KeyBoot identifies the run of the service, KeyMode says what the first messages are, and
// KeyYoung that the service may not know all members yet. The last of the first messages has a Trailer with End.
package extension

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Metadata of a Watch.
const (
	// KeyResume holds a Place. An empty one asks for everything, in several messages.
	KeyResume = "discovery-resume"
	// KeyDigest holds a Digest.
	KeyDigest = "discovery-digest-bin"
	// KeyBoot holds the identity of a run of the service, in the headers of Hello and Watch.
	KeyBoot = "discovery-boot"
	// KeyMode holds what the first messages of a watch are.
	KeyMode = "discovery-mode"
	// KeyYoung holds for how many seconds a living member may still be missing at a service that has started lately.
	KeyYoung = "discovery-young"
	// KeyProof holds the proof of the cluster secret in calls of a carried service.
	KeyProof = "discovery-proof-bin"
)

// Modes of a watch: what its first messages are.
const (
	// ModeResume is what has changed since the place.
	ModeResume = "resume"
	// ModeEqual is nothing: the digest is that of the service.
	ModeEqual = "equal"
	// ModeDifference is all members in those buckets that differ from the digest.
	ModeDifference = "difference"
	// ModeSnapshot is all members.
	ModeSnapshot = "snapshot"
)

// Place is a place in the changes of a cluster, in one run of the service.
type Place struct {
	Boot     Boot
	Sequence uint64
}

// Boot identifies one run of a service.
type Boot [16]byte

// String returns the boot as text.
func (b Boot) String() string { return hex.EncodeToString(b[:]) }

// ParseBoot is the inverse of String.
func ParseBoot(text string) (Boot, error) {
	var b Boot

	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(b) {
		return b, fmt.Errorf("parse %q: want %d hexadecimal digits", text, 2*len(b))
	}

	copy(b[:], raw)

	return b, nil
}

// String returns the place as text.
func (p Place) String() string { return p.Boot.String() + "/" + strconv.FormatUint(p.Sequence, 10) }

// ParsePlace is the inverse of String.
func ParsePlace(text string) (Place, error) {
	boot, sequence, ok := strings.Cut(text, "/")
	if !ok {
		return Place{}, fmt.Errorf("parse %q: want BOOT/SEQUENCE", text)
	}

	var (
		p   Place
		err error
	)

	if p.Boot, err = ParseBoot(boot); err != nil {
		return Place{}, err
	}

	if p.Sequence, err = strconv.ParseUint(sequence, 10, 64); err != nil {
		return Place{}, fmt.Errorf("parse %q: %w", text, err)
	}

	return p, nil
}
