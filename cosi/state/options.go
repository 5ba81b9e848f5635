// SPDX-License-Identifier: Apache-2.0

package state

import (
	"regexp"
	"time"

	"github.com/seed-59268b81/talos/cosi/resource"
)

// Apply returns the options that the functions set. For writes, which have defaults, use NewWriteOptions.
func Apply[O any, F ~func(*O)](opts []F) (o O) {
	for _, opt := range opts {
		opt(&o)
	}

	return o
}

// GetOptions of a Get.
type GetOptions struct {
	// Current requests the version that the store has now. A store that usually reads from a copy, which may be behind the
	// writes of others, does not use the copy.
	Current bool
}

// GetOption sets one of GetOptions.
type GetOption func(*GetOptions)

// WithCurrent reads the version that the store has now; see GetOptions.Current.
func WithCurrent() GetOption { return func(o *GetOptions) { o.Current = true } }

// ListOptions of a List: several label queries combine with OR, the terms of one with AND.
type ListOptions struct {
	LabelQueries []resource.LabelQuery
	IDQuery      *regexp.Regexp
}

// ListOption sets one of ListOptions.
type ListOption func(*ListOptions)

// WithLabelQuery adds one OR branch.
func WithLabelQuery(terms ...resource.LabelTerm) ListOption {
	return func(o *ListOptions) { o.LabelQueries = append(o.LabelQueries, resource.LabelQuery{Terms: terms}) }
}

// WithIDQuery matches the id, unanchored.
func WithIDQuery(re *regexp.Regexp) ListOption { return func(o *ListOptions) { o.IDQuery = re } }

// WriteOptions of a create, update, modify, teardown or destroy.
type WriteOptions struct {
	Owner string
	// ExpectedPhase of the stored resource; nil accepts any. The default is running.
	ExpectedPhase *resource.Phase
	// Created is the time of creation of the stored resource; zero accepts any time. Destroy checks it: a resource that was
	// destroyed and created again is a version conflict. The protocol between processes has no field for it, so a store in
	// another process does not check it. Create uses it as the time of creation, and the current time if it is zero: clients
	// of the reference implementation set the time themselves.
	Created time.Time
}

// WriteOption sets one of WriteOptions.
type WriteOption func(*WriteOptions)

// WithOwner writes as the owner.
func WithOwner(owner string) WriteOption { return func(o *WriteOptions) { o.Owner = owner } }

// WithExpectedPhase requires a phase of the stored resource.
func WithExpectedPhase(p resource.Phase) WriteOption {
	return func(o *WriteOptions) { o.ExpectedPhase = &p }
}

// WithAnyPhase accepts any phase of the stored resource.
func WithAnyPhase() WriteOption { return func(o *WriteOptions) { o.ExpectedPhase = nil } }

// WithCreated requires a resource that was created at the time; see WriteOptions.Created.
func WithCreated(t time.Time) WriteOption { return func(o *WriteOptions) { o.Created = t } }

var running = resource.PhaseRunning

// NewWriteOptions applies options to the defaults.
func NewWriteOptions(opts ...WriteOption) WriteOptions {
	if len(opts) == 0 { // nothing that escapes
		return WriteOptions{ExpectedPhase: &running}
	}

	o := WriteOptions{ExpectedPhase: &running}

	for _, opt := range opts {
		opt(&o)
	}

	return o
}

// WatchOptions of the watch of one resource.
type WatchOptions struct {
	TailEvents        int
	StartFromBookmark Bookmark
	// Progress sends Noop events with a bookmark while only other resources of the kind change; see WatchKindOptions.Progress.
	Progress bool
}

// WatchOption sets one of WatchOptions.
type WatchOption func(*WatchOptions)

// WithTailEvents replays the last n events instead of the current version.
func WithTailEvents(n int) WatchOption { return func(o *WatchOptions) { o.TailEvents = n } }

// WithStartFromBookmark resumes strictly after the bookmark.
func WithStartFromBookmark(b Bookmark) WatchOption {
	return func(o *WatchOptions) { o.StartFromBookmark = b }
}

// WithWatchProgress keeps the bookmark of a quiet watch of one resource valid; see WatchOptions.Progress.
func WithWatchProgress() WatchOption { return func(o *WatchOptions) { o.Progress = true } }

// WatchKindOptions of the watch of a kind.
type WatchKindOptions struct {
	BootstrapContents bool
	BootstrapBookmark bool
	TailEvents        int
	StartFromBookmark Bookmark
	LabelQueries      []resource.LabelQuery
	IDQuery           *regexp.Regexp
	// Progress sends Noop events with a bookmark while no event passes the filter. So the bookmark of a quiet watch stays in
	// the history, and the watch can resume.
	Progress bool
	// Strict ends the watch with an Errored event when the reader falls behind the history. Otherwise the reader receives
	// the latest version of each changed resource.
	Strict bool
}

// WatchKindOption sets one of WatchKindOptions.
type WatchKindOption func(*WatchKindOptions)

// WithBootstrapContents sends the current contents as Created events, then Bootstrapped.
func WithBootstrapContents() WatchKindOption {
	return func(o *WatchKindOptions) { o.BootstrapContents = true }
}

// WithBootstrapBookmark sends one Noop event with a bookmark before the live events.
func WithBootstrapBookmark() WatchKindOption {
	return func(o *WatchKindOptions) { o.BootstrapBookmark = true }
}

// WithKindTailEvents replays the last n events of the kind.
func WithKindTailEvents(n int) WatchKindOption { return func(o *WatchKindOptions) { o.TailEvents = n } }

// WithKindStartFromBookmark resumes strictly after the bookmark.
func WithKindStartFromBookmark(b Bookmark) WatchKindOption {
	return func(o *WatchKindOptions) { o.StartFromBookmark = b }
}

// WithKindLabelQuery adds one OR branch to the watch's filter.
func WithKindLabelQuery(terms ...resource.LabelTerm) WatchKindOption {
	return func(o *WatchKindOptions) {
		o.LabelQueries = append(o.LabelQueries, resource.LabelQuery{Terms: terms})
	}
}

// WithKindIDQuery filters the watch by id, unanchored.
func WithKindIDQuery(re *regexp.Regexp) WatchKindOption {
	return func(o *WatchKindOptions) { o.IDQuery = re }
}

// WithProgress keeps the bookmarks of a quiet watch valid; see WatchKindOptions.Progress.
func WithProgress() WatchKindOption { return func(o *WatchKindOptions) { o.Progress = true } }

// WithStrict ends the watch on overrun; see WatchKindOptions.Strict.
func WithStrict() WatchKindOption { return func(o *WatchKindOptions) { o.Strict = true } }
