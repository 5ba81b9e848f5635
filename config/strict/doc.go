// SPDX-License-Identifier: Apache-2.0

// Package strict decodes YAML nodes into Go structs and reports all problems.
//
// Users want all mistakes of a configuration at once, each with the path, the line, the column and the likely
// fix. The decoders of YAML libraries stop early, name Go types, and do not know where a key belongs. So this
// package decodes structures itself, and uses the YAML library only for single values. No input makes it panic,
// loop or allocate without limit: the expansion of aliases is limited.
//
// It supports structs with yaml tags (",inline" too), maps with string keys, slices, pointers, strings (any
// scalar, as written), booleans, numbers, time.Duration, encoding.TextUnmarshaler, and free-form values (any),
// which have the types of JSON: map[string]any, []any, string, bool, int64, uint64, float64, nil. A null leaves
// the zero value.
package strict
