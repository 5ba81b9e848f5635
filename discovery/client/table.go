// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	clientapi "github.com/seed-59268b81/talos/api/discovery/client"
	"github.com/seed-59268b81/talos/discovery/extension"
	"github.com/seed-59268b81/talos/discovery/seal"
)

// record is a member as the source has sent it. It is not changed.
type record struct {
	id   string
	hash uint64
	slot uint32
	// affiliate is nil if the member has no data, or data that could not be read.
	affiliate *Affiliate
	err       error
}

// read decrypts and decodes a member with this hash.
func read(c *seal.Cipher, m extension.Member, hash uint64) *record {
	r := &record{id: m.ID, hash: hash, slot: extension.Slot(m.ID)}

	// Endpoints that were found before the member published itself.
	if len(m.Data) == 0 {
		return r
	}

	plain, err := c.OpenAffiliate(m.Data)
	if err != nil {
		r.err = err

		return r
	}

	affiliate := &clientapi.Affiliate{}
	if err := proto.Unmarshal(plain, affiliate); err != nil {
		r.err = fmt.Errorf("decode affiliate: %w", err)

		return r
	}

	r.affiliate = &Affiliate{ID: m.ID, Affiliate: affiliate, Revision: revisionOf(affiliate)}

	for _, raw := range m.Endpoints[:min(len(m.Endpoints), maxEndpoints)] {
		endpoint, err := c.OpenEndpoint(raw)
		if err != nil {
			r.err = err

			continue
		}

		r.affiliate.Endpoints = append(r.affiliate.Endpoints, endpoint)
	}

	return r
}

// revisionOf returns the revision in the affiliate, 0 without one.
func revisionOf(a *clientapi.Affiliate) uint64 {
	var revision uint64

	for raw := a.ProtoReflect().GetUnknown(); len(raw) > 0; {
		number, kind, n := protowire.ConsumeField(raw)
		if n < 0 {
			return revision
		}

		if number == extension.FieldRevision && kind == protowire.VarintType {
			_, _, tag := protowire.ConsumeTag(raw)
			revision, _ = protowire.ConsumeVarint(raw[tag:])
		}

		raw = raw[n:]
	}

	return revision
}

// table holds the members of a source, and follows its messages. It is a function of messages and times: the clock and the
// connection are the session's.
type table struct {
	read func(m extension.Member, hash uint64) *record
	// dropped is told about each member that goes, if set.
	dropped func(id string)

	// records are sorted by id. sum is the sum of their hashes.
	records []*record
	sum     uint64
	// place is the place in the changes of a source of ours, if placed.
	placed bool
	place  extension.Place
	// mode is what the first messages of the stream are; empty: everything has been received. Seen are the members in them.
	mode string
	seen map[string]bool
	// keepUntil is until when the source may not know all members; zero: it knows them.
	keepUntil time.Time
	// missing are the members that the source has not sent, and when they are dropped.
	missing map[string]time.Time
	// ignored is how many members of the present stream are beyond the limits.
	ignored int
}

// Limits of what is kept of a source, which is not trusted: twice the members of the largest cluster, because some are replaced.
const (
	maxRecords   = 10_000
	maxID        = 256
	maxEndpoints = 64
)

// modeReplace is the mode of services that are not ours: the first message has all members.
const modeReplace = "replace"

// begin starts a stream. The header is that of a service of ours, or has neither boot nor mode.
func (t *table) begin(h header, now time.Time) {
	t.seen = map[string]bool{}
	t.mode, t.keepUntil = h.mode, time.Time{}
	t.placed, t.ignored = false, 0

	if h.mode == "" {
		t.mode = modeReplace

		return
	}

	t.place.Boot = h.boot

	if h.young > 0 {
		t.keepUntil = now.Add(h.young)
	}
}

// header is what a source says at the start of a stream.
type header struct {
	boot  extension.Boot
	mode  string
	young time.Duration
}

// complete reports whether everything that the source has was received.
func (t *table) complete() bool { return t.mode == "" }

// apply takes a message. It reports whether the members have changed.
func (t *table) apply(m extension.Response, now time.Time) (changed bool) {
	for _, member := range m.Members {
		if member.ID == "" {
			continue
		}

		if m.Deleted {
			changed = t.remove(member.ID) || changed
		} else {
			changed = t.put(member) || changed
		}
	}

	if m.Placed && t.mode != modeReplace {
		t.placed, t.place.Sequence = true, m.Sequence
	}

	switch {
	case t.mode == modeReplace:
		// An existing service sends all members in the first message.
		changed = t.reconcile(func(*record) bool { return true }, now) || changed
		t.mode, t.seen = "", nil
	case t.mode != "" && m.End:
		changed = t.reconcile(covered(t.mode, m), now) || changed
		t.mode, t.seen = "", nil
	}

	return changed
}

// covered returns which members the first messages would have had.
func covered(mode string, m extension.Response) func(*record) bool {
	switch {
	case mode == extension.ModeSnapshot:
		return func(*record) bool { return true }
	case mode == extension.ModeDifference && m.Buckets > 0:
		buckets := make([]bool, m.Buckets)

		for _, c := range m.Covered {
			if int(c) < len(buckets) {
				buckets[c] = true
			}
		}

		return func(r *record) bool { return buckets[extension.Bucket(r.slot, len(buckets))] }
	default:
		return func(*record) bool { return false }
	}
}

// reconcile drops the members that were not seen, or notes when to.
func (t *table) reconcile(covered func(*record) bool, now time.Time) bool {
	before := len(t.records)

	t.records = slices.DeleteFunc(t.records, func(r *record) bool {
		if t.seen[r.id] {
			return false
		}

		if !covered(r) {
			// The source need not send the members that it has in common with the digest.
			if t.mode != extension.ModeResume {
				delete(t.missing, r.id)
			}

			return false
		}

		if !t.keepUntil.After(now) {
			delete(t.missing, r.id)
			t.drop(r)

			return true
		}

		if t.missing == nil {
			t.missing = map[string]time.Time{}
		}

		// A second restart does not give a member more time.
		if _, known := t.missing[r.id]; !known {
			t.missing[r.id] = t.keepUntil
		}

		return false
	})

	return len(t.records) != before
}

// expire drops missing members whose time is over. It returns when to call it again, zero: never.
func (t *table) expire(now time.Time) (changed bool, next time.Time) {
	for id, at := range t.missing {
		switch {
		case !at.After(now):
			changed = t.remove(id) || changed
		case next.IsZero() || at.Before(next):
			next = at
		}
	}

	return changed, next
}

func (t *table) drop(r *record) {
	t.sum -= r.hash

	if t.dropped != nil {
		t.dropped(r.id)
	}
}

func (t *table) find(id string) (int, bool) {
	return slices.BinarySearchFunc(t.records, id, func(r *record, id string) int { return strings.Compare(r.id, id) })
}

func (t *table) put(m extension.Member) bool {
	i, known := t.find(m.ID)
	if len(m.ID) > maxID || !known && len(t.records) >= maxRecords {
		t.ignored++

		return false
	}

	if t.mode != "" {
		t.seen[m.ID] = true
	}

	delete(t.missing, m.ID)

	hash := extension.Hash(m.ID, m.Data, m.Endpoints)

	if known && t.records[i].hash == hash {
		return false
	}

	r := t.read(m, hash)

	if known {
		t.sum -= t.records[i].hash
		t.records[i] = r
	} else {
		t.records = slices.Insert(t.records, i, r)
	}

	t.sum += hash

	return true
}

func (t *table) remove(id string) bool {
	delete(t.missing, id)

	i, known := t.find(id)
	if known {
		r := t.records[i]
		t.records = slices.Delete(t.records, i, i+1)
		t.drop(r)
	}

	return known
}

// digest returns the digest of the members, nil if there are none.
func (t *table) digest() *extension.Digest {
	if len(t.records) == 0 {
		return nil
	}

	d := &extension.Digest{Buckets: make([]uint32, extension.BucketsFor(len(t.records)))}
	for _, r := range t.records {
		d.Add(r.slot, r.hash)
	}

	return d
}
