// SPDX-License-Identifier: Apache-2.0

// Package events is the machine's history for clients of the API: a bounded ring of events with sortable ids. A reader starts
// with past events (by number, by time, or after an id) and continues with new ones. A reader that is too slow for the ring gets
// an error rather than a history with a gap.
package events

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/xid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/seed-59268b81/talos/api/machine"
)

// Capacity is how many events are kept.
const Capacity = 1024

// maxBatch is how many events a reader takes from the ring at once.
const maxBatch = 64

// typePrefix precedes the message's name in the payload's URL. Existing clients match it.
const typePrefix = "talos/runtime/"

// Event is one entry.
type Event struct {
	ID      xid.ID
	ActorID string
	Payload proto.Message
}

// Wire returns the event as it is sent.
func (e Event) Wire() (*machine.Event, error) {
	value, err := proto.Marshal(e.Payload)
	if err != nil {
		return nil, fmt.Errorf("event %s: encode %T: %w", e.ID, e.Payload, err)
	}

	return &machine.Event{
		Data:    &anypb.Any{TypeUrl: typePrefix + string(e.Payload.ProtoReflect().Descriptor().FullName()), Value: value},
		Id:      e.ID.String(),
		ActorId: e.ActorID,
	}, nil
}

// Ring holds the last events. The zero value is ready to use.
type Ring struct {
	mu      sync.Mutex
	events  [Capacity]Event
	next    uint64
	changed chan struct{}
}

// Publish adds an event. The actor is the id of the API call that caused it, if any.
func (r *Ring) Publish(payload proto.Message, actorID string) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.events[r.next%Capacity] = Event{ID: xid.New(), ActorID: actorID, Payload: payload}
	r.next++

	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// Start is where a reader starts. The zero value starts with the next event.
type Start struct {
	// Tail is how many past events to start with, of those that match; negative means all.
	Tail int
	// After is the id of the last event seen. It takes precedence over Since, and Since over Tail.
	After string
	// Since is how far back in time to go, in whole seconds as ids have them.
	Since time.Duration
	// Actor limits to the events of one API call.
	Actor string
}

func (s Start) wants(e Event) bool { return s.Actor == "" || e.ActorID == s.Actor }

// ErrOverrun ends a reader that was too slow.
var ErrOverrun = errors.New("events were overwritten before they could be sent: read faster, or start again with tail")

// Watch calls fn for each event. It returns nil when the context ends.
func (r *Ring) Watch(ctx context.Context, start Start, fn func(Event) error) error {
	pos, err := r.position(start)
	if err != nil {
		return err
	}

	for {
		batch, next, changed, err := r.after(pos)
		if err != nil {
			return err
		}

		for _, e := range batch {
			if start.wants(e) {
				if err := fn(e); err != nil {
					return err
				}
			}
		}

		pos = next

		if len(batch) == maxBatch {
			continue
		}

		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}

func (r *Ring) oldest() uint64 { return max(r.next, Capacity) - Capacity }

func (r *Ring) position(start Start) (uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	switch {
	case start.After != "":
		id, err := xid.FromString(start.After)
		if err != nil {
			return 0, fmt.Errorf("events after %.40q: not an event id: %w", start.After, err)
		}

		// By equality if the event is still kept: ids of one second need not be in order.
		if pos := r.first(func(e Event) bool { return e.ID == id }); pos < r.next {
			return pos + 1, nil
		}

		return r.first(func(e Event) bool { return e.ID.Compare(id) > 0 }), nil
	case start.Since < 0:
		return 0, fmt.Errorf("events of the last %s: not a time in the past", start.Since)
	case start.Since > 0:
		since := time.Now().Add(-start.Since).Truncate(time.Second)

		return r.first(func(e Event) bool { return !e.ID.Time().Before(since) }), nil
	case start.Tail < 0:
		return r.oldest(), nil
	default:
		return r.last(start.Tail, start.wants), nil
	}
}

// last returns the position of the last count events that match.
func (r *Ring) last(count int, match func(Event) bool) uint64 {
	pos := r.next

	for count > 0 && pos > r.oldest() {
		pos--

		if match(r.events[pos%Capacity]) {
			count--
		}
	}

	return pos
}

func (r *Ring) first(match func(Event) bool) uint64 {
	pos := r.oldest()
	for pos < r.next && !match(r.events[pos%Capacity]) {
		pos++
	}

	return pos
}

func (r *Ring) after(pos uint64) ([]Event, uint64, <-chan struct{}, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if pos < r.oldest() {
		return nil, 0, nil, ErrOverrun
	}

	// A bounded number, so that a slow reader holds little memory.
	end := min(r.next, pos+maxBatch)

	batch := make([]Event, 0, end-pos)
	for ; pos < end; pos++ {
		batch = append(batch, r.events[pos%Capacity])
	}

	if r.changed == nil {
		r.changed = make(chan struct{})
	}

	return batch, pos, r.changed, nil
}
