// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// version is a value as etcd has it, and what it means.
type version struct {
	// Resource is nil for none. For a value that can not be read it is the last one of the key that could.
	resource.Resource

	revision   int64 // of etcd that made it, 0 for none
	value      string
	unreadable error
}

func (v version) is(kv *mvccpb.KeyValue) bool {
	return v.revision == kv.ModRevision && v.value == string(kv.Value)
}

func (v version) same(w version) bool { return v.revision == w.revision && v.value == w.value }

// compareLimit keeps a transaction, which has the old value and the new one in it, within what etcd takes.
const compareLimit = 256 << 10

// unchanged holds if etcd has this version. The revision alone does not tell when etcd was restored from a snapshot and
// has given it to another change.
func (v version) unchanged(key string) []clientv3.Cmp {
	conditions := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(key), "=", v.revision)}

	if v.revision != 0 && len(v.value) <= compareLimit {
		conditions = append(conditions, clientv3.Compare(clientv3.Value(key), "=", v.value))
	}

	return conditions
}

// decode reads a stored value; had is what the key was, nil for none.
func (s *Store) decode(kv *mvccpb.KeyValue, had resource.Resource) version {
	v := version{revision: kv.ModRevision, value: string(kv.Value)}

	v.Resource, v.unreadable = s.resourceOf(string(kv.Key), kv.Value)
	if v.unreadable != nil {
		s.log.Error("a value can not be read", "error", v.unreadable)

		v.Resource = had
	}

	return v
}

// resourceOf reads a stored value. A spec that another version of the program has written, and this one can not read,
// passes through undecoded: who reads it is told, and nobody takes the resource for destroyed.
func (s *Store) resourceOf(key string, value []byte) (resource.Resource, error) {
	ptr, err := s.pointerOf(key)
	if err != nil {
		return nil, err
	}

	r, err := resource.UnmarshalWire(value, false)
	if err != nil {
		var opaqueErr error

		if r, opaqueErr = resource.UnmarshalWire(value, true); opaqueErr != nil {
			return nil, fmt.Errorf("%s: %w", ptr, opaqueErr)
		}

		s.log.Error("a spec can not be read, it passes through undecoded", "error", err)
	}

	if got := r.Metadata().Pointer(); got != ptr {
		return nil, fmt.Errorf("%s: its value is of %s", ptr, got)
	}

	r.Metadata().Seal()

	return r, nil
}
