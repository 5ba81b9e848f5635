// SPDX-License-Identifier: Apache-2.0

// Package bolt is a state in memory that is also stored in a file. Reads and watches are those of package memory. A write is
// durable before any reader sees it.
//
//	st, err := bolt.Open("resources.db")
//	defer st.Close()
//
// Concurrent writes share one disk write. The last ones are in a second file, resources.db.log, while the store is open, and after a crash
// until it is opened again: both belong together. Histories are stored too, so a bookmark stays valid across a restart. With
// a key, all specs and all metadata except the address are encrypted, each bound to its place.
//
// Resources are decoded when the file is opened, so register types before that (resource.Register). A resource whose type
// is registered later stays undecoded in the store: package typed decodes it at each read, other readers get a
// *resource.Opaque.
package bolt

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/seed-59268b81/talos/cosi/memory"
)

// Store is a state in a file.
type Store struct {
	*memory.State

	file *file
}

// Option of Open.
type Option func(*options)

type options struct {
	key     []byte
	history int
	memory  []memory.Option
}

// WithKey encrypts the file with a key of 32 bytes. A file must be opened with the key that it was created with.
func WithKey(key []byte) Option { return func(o *options) { o.key = key } }

// WithHistory limits the number of changes of a kind that are kept.
func WithHistory(events int) Option {
	return func(o *options) { o.history, o.memory = max(events, 1), []memory.Option{memory.WithHistory(events)} }
}

// Open opens the store in a file; a missing file is created. One process at a time can open a file.
func Open(path string, opts ...Option) (*Store, error) {
	o := options{history: memory.DefaultHistory}
	for _, opt := range opts {
		opt(&o)
	}

	seal, err := newSealer(o.key)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}

	db, err := openRoomy(path)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}

	f := &file{db: db, seal: seal, history: uint64(o.history), log: log{path: path + logSuffix}}

	st, err := load(f, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, err), f.log.close(), db.Close())
	}

	return &Store{State: st, file: f}, nil
}

func load(f *file, o options) (*memory.State, error) {
	var fresh [memory.EpochSize]byte

	rand.Read(fresh[:]) // it does not fail

	contents, err := f.read(fresh)
	if err != nil {
		return nil, err
	}

	return memory.Restore(f, contents, o.memory...)
}

// Close waits for pending writes and closes the file.
func (s *Store) Close() error {
	s.State.Close()

	return s.file.close()
}
