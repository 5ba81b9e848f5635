// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

const (
	firstDelay = 10 * time.Millisecond
	mostDelay  = time.Second
)

// follow applies the events of the stream until the context ends. When the stream breaks, it starts another one.
func (s *Store) follow(ctx context.Context, st *stream) {
	defer close(s.done)

	for {
		err := s.receive(st)
		delay := firstDelay

		for st = nil; st == nil; delay = min(2*delay, mostDelay) {
			if ctx.Err() != nil {
				return
			}

			if s.setBroken(err) {
				s.log.Warn("the watch of etcd broke, starting it again", "error", err)
			}

			select {
			case <-ctx.Done():
				return
			case <-time.After(delay):
			}

			st, err = s.resume(ctx)
		}

		s.setBroken(nil)
	}
}

// receive applies the events of the stream until it breaks.
func (s *Store) receive(st *stream) error {
	s.setStream(st)

	defer func() {
		s.setStream(nil)
		st.cancel()
	}()

	return st.receive(s.applyAll, s.advance)
}

// applyAll applies the events of whole revisions: etcd does not split a revision.
func (s *Store) applyAll(events []*mvccpb.Event) {
	place := 0

	for i, ev := range events {
		revision, era := ev.Kv.ModRevision, s.position().era

		if i+1 < len(events) && events[i+1].Kv.ModRevision == revision {
			s.apply(ev, markOf(era, revision, place))

			place++

			continue
		}

		s.apply(ev, endOf(era, revision))
		s.advance(revision)

		place = 0
	}
}

func (s *Store) apply(ev *mvccpb.Event, mark uint64) {
	switch key := string(ev.Kv.Key); {
	case key == s.eraKey():
		if ev.Type == mvccpb.PUT {
			s.enter(eraOf(ev.Kv.Value), ev.Kv.ModRevision)
		}
	case ev.Type == mvccpb.DELETE:
		s.forget(key, mark)
	default:
		s.put(ev.Kv, mark)
	}
}

// put makes a stored value current. A value that cannot be decoded changes nothing for readers: the resource exists, and
// another version of the program may be able to decode it.
func (s *Store) put(kv *mvccpb.KeyValue, mark uint64) {
	key := string(kv.Key)

	s.mu.Lock()
	v := s.decode(kv, s.known[key].Resource)
	s.known[key] = v
	s.mu.Unlock()

	if v.unreadable == nil {
		s.feed.Put(mark, v.Resource)
	}
}

func (s *Store) forget(key string, mark uint64) {
	s.mu.Lock()
	had := s.known[key]
	delete(s.known, key)
	s.mu.Unlock()

	if had.Resource != nil {
		s.feed.Delete(mark, had.Metadata().Pointer())
	}
}
