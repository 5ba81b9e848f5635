// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const readTimeout = time.Minute

// resume starts a watch at the position of the copy. If etcd no longer has the history of the copy, resume first corrects
// the copy.
func (s *Store) resume(ctx context.Context) (*stream, error) {
	short, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()

	at := s.position()

	// The watch comes first: it breaks if etcd is restored from here on.
	st, err := s.watch(ctx, at.applied)
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return nil, err
	}

	if err == nil {
		if err = s.verify(short, at); err == nil {
			return st, nil
		}

		st.cancel()
	}

	switch {
	case errors.Is(err, errRestored):
		s.log.Warn("etcd was restored from a snapshot, reading it again")

		err = s.replace(short, true)
	case errors.Is(err, rpctypes.ErrCompacted):
		s.log.Warn("etcd compacted changes that the watch has not seen, reading it again")

		err = s.replace(short, false)
	}

	if err != nil {
		return nil, err
	}

	return s.resume(ctx)
}

// verify compares the copy with the contents of etcd at the position. Each value contains the time of its change, so another
// history does not lead to equal values. A weaker check would not do: a cluster that is restored under the same names keeps
// its identity, and its revision may have grown beyond ours since.
func (s *Store) verify(ctx context.Context, at position) error {
	contents, err := s.list(ctx, clientv3.WithRev(at.applied))
	if errors.Is(err, rpctypes.ErrFutureRev) {
		return errRestored
	}

	if err != nil {
		return fmt.Errorf("read revision %d: %w", at.applied, err)
	}

	if contents.Header.ClusterId != s.cluster {
		return errRestored
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	same := 0

	for _, kv := range contents.Kvs {
		if string(kv.Key) == s.eraKey() {
			continue
		}

		if !s.known[string(kv.Key)].is(kv) {
			return errRestored
		}

		same++
	}

	if same != len(s.known) {
		return errRestored
	}

	return nil
}

// replace reads everything and corrects the copy. Readers receive the differences, but not the changes that led to them:
// their earlier bookmarks, and those of the corrections, are not valid.
func (s *Store) replace(ctx context.Context, restored bool) error {
	contents, err := s.list(ctx)
	if err != nil {
		return fmt.Errorf("read the store: %w", err)
	}

	revision, era := contents.Header.Revision, s.position().era
	there := map[string]*mvccpb.KeyValue{}
	stored := uint64(0)

	for _, kv := range contents.Kvs {
		if key := string(kv.Key); key == s.eraKey() {
			stored = eraOf(kv.Value)
		} else {
			there[key] = kv
		}
	}

	if stored > era {
		era = stored
	} else if restored && era < maxEra {
		if err := s.writeEra(ctx, stored, era+1); err != nil {
			return err
		}

		return s.replace(ctx, true)
	}

	end := endOf(era, revision)
	s.feed.Forget(end)

	for _, key := range s.changedFrom(there) {
		if kv := there[key]; kv != nil {
			s.put(kv, end)
		} else {
			s.forget(key, end)
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.cluster = contents.Header.ClusterId
	s.feed.Reached(end)
	s.move(position{era, revision})

	return nil
}

// writeEra notifies all processes that etcd was restored. It does nothing if another process has written an era.
func (s *Store) writeEra(ctx context.Context, stored, era uint64) error {
	unchanged := clientv3.Compare(clientv3.ModRevision(s.eraKey()), "=", 0)
	if stored > 0 {
		unchanged = clientv3.Compare(clientv3.Value(s.eraKey()), "=", strconv.FormatUint(stored, 10))
	}

	_, err := s.client.Txn(ctx).If(unchanged).Then(clientv3.OpPut(s.eraKey(), strconv.FormatUint(era, 10))).Commit()
	if err != nil {
		return fmt.Errorf("write the era of the store: %w", err)
	}

	return nil
}

// changedFrom returns the keys whose values in etcd differ from the copy, sorted.
func (s *Store) changedFrom(there map[string]*mvccpb.KeyValue) []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	var changed []string

	for key, kv := range there {
		if !s.known[key].is(kv) {
			changed = append(changed, key)
		}
	}

	for key := range s.known {
		if there[key] == nil {
			changed = append(changed, key)
		}
	}

	slices.Sort(changed)

	return changed
}
