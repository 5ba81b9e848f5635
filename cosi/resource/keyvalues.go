// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"iter"
	"slices"
	"strings"
)

// KeyValues is an immutable, sorted set of key-value pairs: labels or annotations. The zero value is empty.
type KeyValues struct{ pairs []pair }

type pair struct{ key, value string }

// KeyValuesOf returns the pairs of a map.
func KeyValuesOf(m map[string]string) KeyValues {
	if len(m) == 0 {
		return KeyValues{}
	}

	pairs := make([]pair, 0, len(m))
	for k, v := range m {
		pairs = append(pairs, pair{k, v})
	}

	slices.SortFunc(pairs, func(a, b pair) int { return strings.Compare(a.key, b.key) })

	return KeyValues{pairs: pairs}
}

func (kv KeyValues) find(key string) (int, bool) {
	return slices.BinarySearchFunc(kv.pairs, key, func(p pair, k string) int { return strings.Compare(p.key, k) })
}

// Get returns the value of a key.
func (kv KeyValues) Get(key string) (string, bool) {
	i, ok := kv.find(key)
	if !ok {
		return "", false
	}

	return kv.pairs[i].value, true
}

// Len is the number of pairs.
func (kv KeyValues) Len() int { return len(kv.pairs) }

// All iterates in key order.
func (kv KeyValues) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, p := range kv.pairs {
			if !yield(p.key, p.value) {
				return
			}
		}
	}
}

// Map returns a copy as a map, nil when empty.
func (kv KeyValues) Map() map[string]string {
	if len(kv.pairs) == 0 {
		return nil
	}

	m := make(map[string]string, len(kv.pairs))
	for _, p := range kv.pairs {
		m[p.key] = p.value
	}

	return m
}

// With returns the set with one pair set.
func (kv KeyValues) With(key, value string) KeyValues {
	i, ok := kv.find(key)
	if ok && kv.pairs[i].value == value {
		return kv
	}

	pairs := slices.Clone(kv.pairs)
	if ok {
		pairs[i].value = value
	} else {
		pairs = slices.Insert(pairs, i, pair{key, value})
	}

	return KeyValues{pairs: pairs}
}

// Without returns the set with one key removed.
func (kv KeyValues) Without(key string) KeyValues {
	i, ok := kv.find(key)
	if !ok {
		return kv
	}

	return KeyValues{pairs: slices.Delete(slices.Clone(kv.pairs), i, i+1)}
}
