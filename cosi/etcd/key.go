// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// The key of a resource is prefix/namespace/type/id with each part escaped as in a URL, so that no part has a slash. That
// of the era is prefix.era, which comes before all of them, so that one watch serves both.

func (s *Store) key(ptr resource.Pointer) string {
	return s.o.prefix + "/" + url.PathEscape(ptr.Namespace) + "/" + url.PathEscape(ptr.Type) + "/" + url.PathEscape(ptr.ID)
}

func (s *Store) eraKey() string { return s.o.prefix + ".era" }

// firstKey and endKey are the range of all keys of the store.
func (s *Store) firstKey() string { return s.eraKey() }

func (s *Store) endKey() string { return s.o.prefix + "0" } // what follows the slash

// pointerOf reads a key.
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
