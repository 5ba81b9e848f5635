// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/memory"
)

// open reads the contents as of some revisions ago, if etcd still has them, and follows from there. So the last changes are
// in the history, and bookmarks from before the start are valid.
func (s *Store) open(ctx context.Context) error {
	now, err := s.client.Get(ctx, s.firstKey(), clientv3.WithRange(s.endKey()), clientv3.WithCountOnly())
	if err != nil {
		return err
	}

	follow, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop, s.life = stop, follow

	// Until the store is open, its stream ends with the caller's context: an etcd that hangs answers nothing to the stream either.
	opening := context.AfterFunc(ctx, stop)
	defer opening()

	st, contents, base, err := s.readFrom(ctx, follow, max(now.Header.Revision-int64(s.o.history), 1))
	if errors.Is(err, rpctypes.ErrCompacted) {
		st, contents, base, err = s.readFrom(ctx, follow, now.Header.Revision)
	}

	if err != nil {
		stop()

		return err
	}

	s.load(contents, base)

	go s.follow(follow, st)

	if err := s.catchUp(ctx, now.Header.Revision); err != nil {
		s.Close()

		return fmt.Errorf("catch up: %w", err)
	}

	if !opening() { // the context has ended in the last moment
		s.Close()

		return ctx.Err()
	}

	return nil
}

// catchUp waits until the copy has the revision, also when new eras begin in between.
func (s *Store) catchUp(ctx context.Context, revision int64) error {
	for {
		at := s.position()
		if at.applied >= revision {
			return nil
		}

		if err := s.reach(ctx, revision, at); !errors.Is(err, errRestored) {
			return err
		}
	}
}

// readFrom starts a watch after the revision, and then reads the contents at the revision.
func (s *Store) readFrom(ctx, follow context.Context, base int64) (*stream, *clientv3.GetResponse, int64, error) {
	st, err := s.watch(follow, base)
	if err != nil {
		return nil, nil, 0, err
	}

	contents, err := s.list(ctx, clientv3.WithRev(base))
	if err != nil {
		st.cancel()

		return nil, nil, 0, err
	}

	return st, contents, base, nil
}

func (s *Store) list(ctx context.Context, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return s.client.Get(ctx, s.firstKey(), append(opts, clientv3.WithRange(s.endKey()))...)
}

// load fills the copy with the contents at the revision. No other goroutine uses the store yet.
func (s *Store) load(contents *clientv3.GetResponse, base int64) {
	s.cluster = contents.Header.ClusterId
	s.at = position{applied: base}

	for _, kv := range contents.Kvs {
		if string(kv.Key) == s.eraKey() {
			s.at.era = eraOf(kv.Value)
		}
	}

	s.copy, s.feed = memory.NewFollower(s.epoch(s.cluster), endOf(s.at.era, base), s.o.memory...)

	for _, kv := range contents.Kvs {
		if string(kv.Key) == s.eraKey() {
			continue
		}

		v := s.decode(kv, nil)
		s.known[string(kv.Key)] = v

		if v.Resource != nil {
			s.feed.Load(v.Resource)
		}
	}
}

// epoch identifies bookmarks of this cluster and prefix.
func (s *Store) epoch(cluster uint64) (epoch [memory.EpochSize]byte) {
	h := fnv.New64a()
	h.Write(binary.BigEndian.AppendUint64([]byte(s.o.prefix), cluster))
	h.Sum(epoch[:0])

	return epoch
}
