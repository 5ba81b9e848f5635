// SPDX-License-Identifier: Apache-2.0

// Package strict fills Go structs from YAML nodes and reports everything that does not fit.
//
// A person who wrote a configuration wants to hear of all mistakes at once, each with the path, the
// line and column, and the likely cure; the decoders of YAML libraries stop early, name Go types, and do
// not know where a key would have belonged. So structure is walked here, and only single values are
// left to the YAML library. No input makes it panic, loop or grow without bound: aliases are followed
// within a budget of values.
//
// What is read: structs by their yaml tags (",inline" included), maps with string keys, slices,
// pointers, strings (any scalar, as written), booleans, numbers, time.Duration, every
// encoding.TextUnmarshaler, and free-form values (any), which come out as JSON would have them:
// map[string]any, []any, string, bool, int64, uint64, float64, nil. A null leaves the zero value.
package strict
