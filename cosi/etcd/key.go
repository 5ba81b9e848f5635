// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// A key is prefix/namespace/type/id with each part escaped as in a URL, so that no part has a slash.

func (s *Store) key(ptr resource.Pointer) string {
	return s.o.prefix + "/" + url.PathEscape(ptr.Namespace) + "/" + url.PathEscape(ptr.Type) + "/" + url.PathEscape(ptr.ID)
}

// pointerOf reads a key without its prefix.
func pointerOf(key string) (ptr resource.Pointer, err error) {
	parts := strings.Split(key, "/")
	if len(parts) != 3 {
		return ptr, fmt.Errorf("key %q: expected namespace/type/id", key)
	}

	for i, part := range []*string{&ptr.Namespace, &ptr.Type, &ptr.ID} {
		if *part, err = url.PathUnescape(parts[i]); err != nil {
			return ptr, fmt.Errorf("key %q: %w", key, err)
		}
	}

	return ptr, nil
}

// decode reads a stored value.
func (s *Store) decode(key, value []byte) (resource.Resource, error) {
	ptr, err := pointerOf(strings.TrimPrefix(string(key), s.o.prefix+"/"))
	if err != nil {
		return nil, err
	}

	r, err := resource.UnmarshalWire(value, false)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ptr, err)
	}

	if got := r.Metadata().Pointer(); got != ptr {
		return nil, fmt.Errorf("%s: its value is of %s", ptr, got)
	}

	r.Metadata().Seal()

	return r, nil
}
