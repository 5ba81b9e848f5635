// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/cosi/resource"
)

// version is a value in etcd with the decoded resource.
type version struct {
	// Resource is nil if the key does not exist. For a value that cannot be decoded it is the last decoded one of the key.
	resource.Resource

	revision   int64 // of the last change in etcd, 0 for none
	value      string
	unreadable error
}

func (v version) is(kv *mvccpb.KeyValue) bool {
	return v.revision == kv.ModRevision && v.value == string(kv.Value)
}

func (v version) same(w version) bool { return v.revision == w.revision && v.value == w.value }

// compareLimit keeps a transaction, which contains the old and the new value, within the size limit of etcd.
const compareLimit = 256 << 10

// unchanged returns conditions that hold if etcd has this version. The revision alone is not enough: after a restore from a
// snapshot, etcd may have given it to another change.
func (v version) unchanged(key string) []clientv3.Cmp {
	conditions := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(key), "=", v.revision)}

	if v.revision != 0 && len(v.value) <= compareLimit {
		conditions = append(conditions, clientv3.Compare(clientv3.Value(key), "=", v.value))
	}

	return conditions
}

// decode decodes a stored value; had is the previous resource of the key, nil for none.
func (s *Store) decode(kv *mvccpb.KeyValue, had resource.Resource) version {
	v := version{revision: kv.ModRevision, value: string(kv.Value)}

	v.Resource, v.unreadable = s.resourceOf(string(kv.Key), kv.Value)
	if v.unreadable != nil {
		s.log.Error("a stored value cannot be decoded", "error", v.unreadable)

		v.Resource = had
	}

	return v
}

// resourceOf decodes a stored value. A spec that cannot be decoded, because another version of the program has written it,
// passes through undecoded: its reader gets the error, and no one takes the resource for destroyed.
func (s *Store) resourceOf(key string, value []byte) (resource.Resource, error) {
	ptr, err := s.pointerOf(key)
	if err != nil {
		return nil, err
	}

	r, err := unmarshal(value, false)
	if err != nil {
		var opaqueErr error

		if r, opaqueErr = unmarshal(value, true); opaqueErr != nil {
			return nil, fmt.Errorf("%s: %w", ptr, opaqueErr)
		}

		s.log.Error("a spec cannot be decoded, it passes through undecoded", "error", err)
	}

	if got := r.Metadata().Pointer(); got != ptr {
		return nil, fmt.Errorf("%s: its value is of %s", ptr, got)
	}

	r.Metadata().Seal()

	return r, nil
}

// unmarshal decodes a value. A panic is an error: the value stays in etcd, and would stop the store in each process, again and again.
func unmarshal(value []byte, opaque bool) (r resource.Resource, err error) {
	err = guard.Call(func() (err error) {
		r, err = resource.UnmarshalWire(value, opaque)

		return err
	})

	return r, err
}
