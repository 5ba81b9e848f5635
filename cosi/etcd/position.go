// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"time"
)

// position is how far the copy is.
type position struct {
	era     uint64
	applied int64 // revision that the copy has reached
}

// errRestored says that etcd was restored from a snapshot, so that its history is not the one that was followed.
var errRestored = errors.New("etcd was restored from a snapshot")

func (s *Store) position() position {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.at
}

// move sets the position, and wakes those who wait for it. The lock is held.
func (s *Store) move(to position) {
	s.at = to
	close(s.moved)
	s.moved = make(chan struct{})
}

// advance notes that everything up to the revision is in the copy.
func (s *Store) advance(revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if revision > s.at.applied {
		s.feed.Reached(endOf(s.at.era, revision))
		s.move(position{s.at.era, revision})
	}
}

// enter begins an era after the revision: bookmarks from before are no good any more.
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

// restart has the watch started again, and with it the history compared with that of etcd.
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
		st.askProgress() // the stream has broken, and another one will tell
	}
}

const (
	firstAsk = 5 * time.Millisecond
	mostAsk  = time.Second
)

// reach waits until the copy has the revision, which etcd has told after the copy was at a position. There may be no
// event of the revision. It returns errRestored when the history that the revision is of may not be the one of the
// position.
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
		case revision < since.applied: // it went back
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
