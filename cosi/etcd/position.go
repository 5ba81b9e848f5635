// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"time"
)

// position is the place in the history that the copy has reached.
type position struct {
	era     uint64
	applied int64 // revision that the copy has reached
}

// errRestored means that etcd was restored from a snapshot: its history is no longer the one that the copy followed.
var errRestored = errors.New("etcd was restored from a snapshot")

func (s *Store) position() position {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.at
}

// move sets the position and wakes the goroutines that wait for it. The lock is held.
func (s *Store) move(to position) {
	s.at = to
	close(s.moved)
	s.moved = make(chan struct{})
}

// advance records that the copy has everything up to the revision.
func (s *Store) advance(revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if revision > s.at.applied {
		s.feed.Reached(endOf(s.at.era, revision))
		s.move(position{s.at.era, revision})
	}
}

// enter begins an era after the revision: earlier bookmarks are no longer valid.
func (s *Store) enter(era uint64, revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if era > s.at.era {
		s.feed.Forget(endOf(era, revision))
		s.feed.Reached(endOf(era, revision))
		s.move(position{era, revision})
	}
}

func (s *Store) setStream(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.stream = st
}

// restart breaks the watch. It is then started again, and the history is compared with that of etcd.
func (s *Store) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.stream != nil {
		s.stream.cancel()
	}
}

func (s *Store) askProgress() {
	s.mu.Lock()
	st := s.stream
	s.mu.Unlock()

	if st != nil {
		st.askProgress() // if it fails, the stream has broken, and the next one reports progress
	}
}

const (
	firstAsk = 5 * time.Millisecond
	mostAsk  = time.Second
)

// reach waits until the copy has the revision. etcd reported the revision after the copy was at the position since. There
// may be no event of the revision. It returns errRestored if the revision may belong to another history than the position.
func (s *Store) reach(ctx context.Context, revision int64, since position) error {
	asked := time.NewTimer(firstAsk)
	defer asked.Stop()

	for wait := firstAsk; ; {
		s.mu.Lock()
		at, moved := s.at, s.moved
		s.mu.Unlock()

		switch {
		case at.era != since.era:
			return errRestored
		case revision < since.applied: // etcd was restored
			s.restart()
		case at.applied >= revision:
			return nil
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.done:
			return errors.New("the store is closed")
		case <-moved:
		case <-asked.C:
			s.askProgress()

			wait = min(2*wait, mostAsk)
			asked.Reset(wait)
		}
	}
}
