// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// The key of a resource is prefix/namespace/type/id. Each part is escaped as in a URL and contains no slash. The key of the
// era is prefix.era, which sorts before all of them: one watch covers both.

func (s *Store) key(ptr resource.Pointer) string {
	return s.o.prefix + "/" + url.PathEscape(ptr.Namespace) + "/" + url.PathEscape(ptr.Type) + "/" + url.PathEscape(ptr.ID)
}

func (s *Store) eraKey() string { return s.o.prefix + ".era" }

// firstKey and endKey are the range of all keys of the store.
func (s *Store) firstKey() string { return s.eraKey() }

func (s *Store) endKey() string { return s.o.prefix + "0" } // the byte after the slash

// pointerOf returns the address in a key.
func (s *Store) pointerOf(key string) (ptr resource.Pointer, err error) {
	rest, found := strings.CutPrefix(key, s.o.prefix+"/")

	parts := strings.Split(rest, "/")
	if !found || len(parts) != 3 {
		return ptr, fmt.Errorf("key %q: expected %s/namespace/type/id", key, s.o.prefix)
	}

	for i, part := range []*string{&ptr.Namespace, &ptr.Type, &ptr.ID} {
		if *part, err = url.PathUnescape(parts[i]); err != nil {
			return ptr, fmt.Errorf("key %q: %w", key, err)
		}
	}

	return ptr, nil
}
