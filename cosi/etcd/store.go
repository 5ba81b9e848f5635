// SPDX-License-Identifier: Apache-2.0

// Package etcd is a state in etcd, shared by all processes that open it with the same prefix:
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:2379"}})
//	st, err := etcd.Open(ctx, client, etcd.WithPrefix("/cosi"))
//
// Each process follows the prefix with one watch and keeps a copy in memory. Reads and watches use the copy, at the speed of
// package memory. The copy may be some milliseconds behind the writes of other processes, but never behind those of its own
// process. A write is one transaction of etcd that succeeds only if the resource is still the version that the write was
// decided on. A write that was decided on an old copy is decided again, so the writes of all processes to a resource follow
// one another. A write that would change nothing, or would be refused, reads etcd first, so this is not decided on an old
// copy either.
//
// Bookmarks are places in the history of etcd. They are valid in every process and across restarts, as far back as etcd's
// history and WithHistory reach.
//
// When etcd is restored from a snapshot under an open store, the store notices: readers receive the differences, and earlier
// bookmarks are refused. A restore while no process has the store open is noticed only if the cluster gets another
// identity, or if its revision is bumped (etcdutl snapshot restore --bump-revision --mark-compacted), which
// the etcd project recommends in any case.
//
// A value that cannot be decoded, such as one of a later version of the program, stays as it is. A resource with an unknown
// spec passes through undecoded; a value that is not a resource is left out. Values are decoded when they arrive, so register
// types before the store is opened. Package typed decodes resources that arrived before.
package etcd

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
)

// Store is a state in etcd.
type Store struct {
	copy *memory.State // follows etcd
	feed *memory.Feed

	client *clientv3.Client
	log    *slog.Logger
	o      options

	mu      sync.Mutex
	known   map[string]version // by key: the values of etcd at the position of the copy
	at      position
	moved   chan struct{} // closed when at changes
	stream  *stream       // nil between two streams
	cluster uint64
	broken  error // why the copy does not follow etcd, nil if it does

	stop context.CancelFunc
	done chan struct{}

	life context.Context // ends with Close
}

var (
	_ state.State    = (*Store)(nil)
	_ state.Notifier = (*Store)(nil)
)

// Option of Open.
type Option func(*options)

type options struct {
	prefix  string
	history int
	memory  []memory.Option
	silence time.Duration
	log     *slog.Logger
}

// WithPrefix sets the prefix of all keys; the default is /cosi.
func WithPrefix(prefix string) Option {
	return func(o *options) { o.prefix = strings.TrimSuffix(prefix, "/") }
}

// WithHistory limits the number of changes of a kind that are kept in memory, and sets how many revisions back they are read
// when the store is opened.
func WithHistory(events int) Option {
	return func(o *options) { o.history, o.memory = max(events, 1), []memory.Option{memory.WithHistory(events)} }
}

// WithSilence sets the time without an answer of etcd, which is asked regularly, after which its connection counts as dead.
// The default is 30 s.
func WithSilence(d time.Duration) Option { return func(o *options) { o.silence = d } }

// WithLog sets the log for broken watches and values that cannot be decoded; the default is slog's.
func WithLog(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// Open reads the store and begins to follow it. The context is for opening only.
func Open(ctx context.Context, client *clientv3.Client, opts ...Option) (*Store, error) {
	o := options{prefix: "/cosi", history: memory.DefaultHistory, silence: 30 * time.Second, log: slog.Default()}
	for _, opt := range opts {
		opt(&o)
	}

	s := &Store{
		client: client, o: o, log: o.log.With("store", "etcd", "prefix", o.prefix),
		known: map[string]version{}, moved: make(chan struct{}), done: make(chan struct{}),
	}

	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("open store %s in etcd at %s: %w", o.prefix, strings.Join(client.Endpoints(), ","), err)
	}

	return s, nil
}

// Close stops following, and ends all watches with the error Unavailable. The client stays open.
func (s *Store) Close() {
	s.stop()
	<-s.done
}

// Get implements state.State.
func (s *Store) Get(ctx context.Context, ptr resource.Pointer, opts ...state.GetOption) (resource.Resource, error) {
	if !state.Apply(opts).Current {
		return s.copy.Get(ctx, ptr)
	}

	return s.write(ctx, ptr, func(cur resource.Resource) (decision, error) {
		if cur == nil {
			return decision{}, state.NewError(state.NotFound, "get", ptr, "does not exist")
		}

		return decision{}, nil
	})
}

// List implements state.State.
func (s *Store) List(ctx context.Context, kind resource.Kind, opts ...state.ListOption) ([]resource.Resource, error) {
	return s.copy.List(ctx, kind, opts...)
}

// Watch implements state.State.
func (s *Store) Watch(ctx context.Context, ptr resource.Pointer, ch chan<- state.Event, opts ...state.WatchOption) error {
	return untilClosed(ctx, s, ch, ptr, lastEvent, func(ctx context.Context) error { return s.copy.Watch(ctx, ptr, ch, opts...) })
}

// WatchKind implements state.State.
func (s *Store) WatchKind(ctx context.Context, kind resource.Kind, ch chan<- state.Event, opts ...state.WatchKindOption) error {
	return untilClosed(ctx, s, ch, kind.Pointer(""), lastEvent, func(ctx context.Context) error { return s.copy.WatchKind(ctx, kind, ch, opts...) })
}

// WatchKindAggregated implements state.State.
func (s *Store) WatchKindAggregated(ctx context.Context, kind resource.Kind, ch chan<- []state.Event, opts ...state.WatchKindOption) error {
	return untilClosed(ctx, s, ch, kind.Pointer(""), lastEvents, func(ctx context.Context) error {
		return s.copy.WatchKindAggregated(ctx, kind, ch, opts...)
	})
}

// caughtUp starts a watch. A bookmark of another process may be of a change that this process has not seen yet. So after a
// refused bookmark it waits until the copy has caught up with etcd, and tries again.
func (s *Store) caughtUp(ctx context.Context, watch func() error) error {
	err := watch()
	if !state.IsInvalidBookmark(err) {
		return err
	}

	now, readErr := s.client.Get(ctx, s.eraKey())
	if readErr != nil {
		return readErr
	}

	if err := s.catchUp(ctx, now.Header.Revision); err != nil {
		return err
	}

	return watch()
}

// WatchFor implements state.State.
func (s *Store) WatchFor(ctx context.Context, ptr resource.Pointer, conditions ...state.Condition) (resource.Resource, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	stop := context.AfterFunc(s.life, func() { cancel(closed("watch", ptr)) })
	defer stop()

	r, err := s.copy.WatchFor(ctx, ptr, conditions...)
	if cause := context.Cause(ctx); err != nil && state.IsUnavailable(cause) {
		err = cause
	}

	return r, err
}

// Notify implements state.Notifier.
func (s *Store) Notify(ctx context.Context, kind resource.Kind, fn func(*state.Event)) error {
	return s.copy.Notify(ctx, kind, fn)
}
