// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/memory"
)

// open reads the contents as of some revisions ago, if etcd still has them, and follows from there: so the last
// changes are in the history, and bookmarks from before are good.
func (s *Store) open(ctx context.Context) error {
	now, err := s.client.Get(ctx, s.o.prefix+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return err
	}

	base := now.Header.Revision

	var contents *clientv3.GetResponse

	if back := base - int64(s.o.history); back > 0 {
		contents, err = s.list(ctx, back)
		base = back
	}

	if contents == nil || errors.Is(err, rpctypes.ErrCompacted) {
		base = now.Header.Revision
		contents, err = s.list(ctx, base)
	}

	if err != nil {
		return err
	}

	s.copy, s.feed = memory.NewFollower(s.epoch(now.Header.ClusterId), uint64(base), memory.WithHistory(s.o.history))

	for _, kv := range contents.Kvs {
		r, err := s.decode(kv.Key, kv.Value)
		if err != nil {
			s.log.Error("a value can not be read", "error", err)

			continue
		}

		s.known[string(kv.Key)] = version{r, kv.ModRevision}
		s.feed.Load(r)
	}

	s.applied = base

	follow, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop

	go s.follow(follow, base+1)

	if err := s.catchUp(ctx, now.Header.Revision); err != nil {
		s.Close()

		return fmt.Errorf("catching up: %w", err)
	}

	return nil
}

// catchUp waits until the copy has the revision, of which there may be no event. Etcd tells how far a watch is when it
// is asked, but not while the watch is behind.
func (s *Store) catchUp(ctx context.Context, revision int64) error {
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		short, cancel := context.WithTimeout(ctx, wait)
		err := s.waitFor(short, revision)

		cancel()

		if err == nil || ctx.Err() != nil {
			return err
		}

		if err := s.client.RequestProgress(clientv3.WithRequireLeader(ctx)); err != nil {
			return err
		}
	}
}

func (s *Store) list(ctx context.Context, revision int64) (*clientv3.GetResponse, error) {
	return s.client.Get(ctx, s.o.prefix+"/", clientv3.WithPrefix(), clientv3.WithRev(revision))
}

// epoch tells bookmarks of this store from those of another cluster or prefix.
func (s *Store) epoch(cluster uint64) (epoch [memory.EpochSize]byte) {
	h := fnv.New64a()
	h.Write(binary.BigEndian.AppendUint64([]byte(s.o.prefix), cluster)) //nolint:errcheck // a hash takes everything
	h.Sum(epoch[:0])

	return epoch
}

const retryDelay = 500 * time.Millisecond

// follow applies what happens from the revision on, until the context ends.
func (s *Store) follow(ctx context.Context, from int64) {
	defer close(s.done)

	for {
		err := s.watch(ctx, from)
		if ctx.Err() != nil {
			return
		}

		s.log.Warn("the watch of etcd broke, starting it again", "error", err)

		if errors.Is(err, rpctypes.ErrCompacted) {
			if err := s.resync(ctx); err != nil {
				s.log.Warn("reading etcd anew failed", "error", err)
			}
		}

		select {
		case <-ctx.Done():
			return
		case <-time.After(retryDelay):
		}

		from = s.reached() + 1
	}
}

func (s *Store) reached() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.applied
}

func (s *Store) watch(ctx context.Context, from int64) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()

	watch := s.client.Watch(ctx, s.o.prefix+"/", clientv3.WithPrefix(), clientv3.WithRev(from), clientv3.WithProgressNotify())

	for res := range watch {
		if err := res.Err(); err != nil {
			return err
		}

		for _, ev := range res.Events {
			s.apply(ev)
		}

		s.advance(res.Header.Revision)
	}

	return errors.New("the watch was closed")
}

func (s *Store) apply(ev *clientv3.Event) {
	key, mark := string(ev.Kv.Key), uint64(ev.Kv.ModRevision)

	if ev.Type == mvccpb.DELETE {
		s.forget(key, mark)

		return
	}

	r, err := s.decode(ev.Kv.Key, ev.Kv.Value)
	if err != nil {
		s.log.Error("a value can not be read", "error", err)
		s.forget(key, mark)

		return
	}

	s.mu.Lock()
	s.known[key] = version{r, ev.Kv.ModRevision}
	s.mu.Unlock()

	s.feed.Put(mark, r)
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

// advance notes that everything up to the revision is in the copy.
func (s *Store) advance(revision int64) {
	s.feed.Reached(uint64(revision))

	s.mu.Lock()
	defer s.mu.Unlock()

	if revision > s.applied {
		s.applied = revision
		close(s.moved)
		s.moved = make(chan struct{})
	}
}

// waitFor waits until the copy has the revision.
func (s *Store) waitFor(ctx context.Context, revision int64) error {
	for {
		s.mu.Lock()
		applied, moved := s.applied, s.moved
		s.mu.Unlock()

		if applied >= revision {
			return nil
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.done:
			return errors.New("the store is closed")
		case <-moved:
		}
	}
}

// resync reads everything anew, when etcd has thrown out what came after the place that the copy had reached.
func (s *Store) resync(ctx context.Context) error {
	contents, err := s.client.Get(ctx, s.o.prefix+"/", clientv3.WithPrefix())
	if err != nil {
		return err
	}

	revision := contents.Header.Revision
	s.feed.Forget(uint64(revision))

	there := map[string]bool{}

	for _, kv := range contents.Kvs {
		there[string(kv.Key)] = true

		s.mu.Lock()
		known := s.known[string(kv.Key)].revision
		s.mu.Unlock()

		if known != kv.ModRevision {
			s.apply(&clientv3.Event{Type: mvccpb.PUT, Kv: &mvccpb.KeyValue{Key: kv.Key, Value: kv.Value, ModRevision: revision}})
			s.correct(string(kv.Key), kv.ModRevision)
		}
	}

	for _, key := range s.knownKeys() {
		if !there[key] {
			s.forget(key, uint64(revision))
		}
	}

	s.advance(revision)

	return nil
}

// correct sets the revision of a resource that was applied at the place of another.
func (s *Store) correct(key string, revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if v, ok := s.known[key]; ok {
		v.revision = revision
		s.known[key] = v
	}
}

func (s *Store) knownKeys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	keys := make([]string, 0, len(s.known))
	for key := range s.known {
		keys = append(keys, key)
	}

	return keys
}
