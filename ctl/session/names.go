// SPDX-License-Identifier: Apache-2.0

package session

import "iter"

// Names returns the name of each thing.
func Names[T any](things []T, name func(T) string) []string {
	names := make([]string, len(things))
	for i, thing := range things {
		names[i] = name(thing)
	}

	return names
}

// All returns the items of a stream, up to its end or error.
func All[T any](stream iter.Seq2[T, error]) ([]T, error) {
	var all []T

	for item, err := range stream {
		if err != nil {
			return all, err
		}

		all = append(all, item)
	}

	return all, nil
}
