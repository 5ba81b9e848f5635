// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"

	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// closed is the error of what a closed store was asked for.
func closed(op string, ptr resource.Pointer) error {
	return state.NewError(state.Unavailable, op, ptr, "the store is closed")
}

// untilClosed starts a watch that also ends when the store is closed: then the channel receives last. No goroutine waits for that.
func untilClosed[T any](
	ctx context.Context, s *Store, ch chan<- T, ptr resource.Pointer, last func(resource.Pointer, error) T, watch func(context.Context) error,
) error {
	if s.life.Err() != nil {
		return closed("watch", ptr)
	}

	open, end := context.WithCancel(ctx)

	if err := s.caughtUp(open, func() error { return watch(open) }); err != nil {
		end()

		return err
	}

	stop := context.AfterFunc(s.life, func() {
		end()

		select {
		case <-ctx.Done():
		case ch <- last(ptr, closed("watch", ptr)):
		}
	})

	context.AfterFunc(ctx, func() {
		stop()
		end()
	})

	return nil
}

func lastEvent(ptr resource.Pointer, err error) state.Event {
	return state.Event{Type: state.Errored, Resource: resource.NewTombstone(ptr), Error: err}
}

func lastEvents(ptr resource.Pointer, err error) []state.Event {
	return []state.Event{lastEvent(ptr, err)}
}

// Following returns nil while the copy follows etcd, or else why it does not: reads then return what was current when the
// connection broke. It is established again without the caller.
func (s *Store) Following() error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.broken
}

// setBroken sets why the copy does not follow etcd, nil if it does. It reports whether that is news.
func (s *Store) setBroken(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	news := (s.broken == nil) != (err == nil) || err != nil && s.broken.Error() != err.Error()
	s.broken = err

	return news
}
