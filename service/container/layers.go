// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/seed-59268b81/talos/cosi/guard"
)

// LayerState is the progress of a layer.
type LayerState uint8

// The states.
const (
	Downloading LayerState = iota
	Downloaded
	Extracted
	AlreadyThere
)

// LayerProgress is the progress of one layer of an image.
type LayerProgress struct {
	Digest        string
	State         LayerState
	Elapsed       time.Duration
	Offset, Total int64
}

// progressInterval is the interval of progress.
const progressInterval = 500 * time.Millisecond

// layers has the layers of an image that is being pulled. It is a handler that containerd calls for each layer of the manifest.
type layers struct {
	store content.Store
	start time.Time

	mu     sync.Mutex
	all    []*layer
	pulled bool
}

// layer is one layer, with the progress that was reported last. Only follow changes that.
type layer struct {
	ocispec.Descriptor

	reported LayerProgress
}

func newLayers(store content.Store) *layers { return &layers{store: store, start: time.Now()} }

// Handle implements images.Handler. It is called before the layer is fetched.
func (l *layers) Handle(ctx context.Context, desc ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	if !images.IsLayerType(desc.MediaType) {
		return nil, nil
	}

	first := LayerProgress{Offset: -1}
	if _, err := l.store.Info(ctx, desc.Digest); err == nil {
		first.State = AlreadyThere
	}

	l.mu.Lock()
	defer l.mu.Unlock()

	if !slices.ContainsFunc(l.all, func(known *layer) bool { return known.Digest == desc.Digest }) {
		l.all = append(l.all, &layer{desc, first})
	}

	return nil, nil
}

// done marks all layers as downloaded and extracted.
func (l *layers) done() {
	l.mu.Lock()
	l.pulled = true
	l.mu.Unlock()
}

// follow calls progress at each change until stop is called, which reports the last changes.
func (l *layers) follow(ctx context.Context, progress func(LayerProgress)) (stop func()) {
	quit := make(chan struct{})

	ended := guard.Go(func() error {
		for ticker := time.NewTicker(progressInterval); ; {
			select {
			case <-quit:
				ticker.Stop()
				l.tell(ctx, progress)

				return nil
			case <-ticker.C:
				l.tell(ctx, progress)
			}
		}
	})

	return func() {
		close(quit)
		<-ended
	}
}

// tell calls progress for each layer that has changed.
func (l *layers) tell(ctx context.Context, progress func(LayerProgress)) {
	l.mu.Lock()
	all, pulled := l.all, l.pulled
	l.mu.Unlock()

	for _, layer := range all {
		next := l.look(ctx, layer.Descriptor, layer.reported, pulled)
		if next.State != layer.reported.State || next.Offset != layer.reported.Offset {
			layer.reported = next
			progress(next)
		}
	}
}

// look returns the progress of a layer.
func (l *layers) look(ctx context.Context, desc ocispec.Descriptor, last LayerProgress, pulled bool) LayerProgress {
	next := LayerProgress{Digest: desc.Digest.String(), Total: desc.Size, Elapsed: time.Since(l.start)}

	switch {
	case last.State == AlreadyThere:
		next.State, next.Offset = AlreadyThere, desc.Size
	case pulled:
		next.State, next.Offset = Extracted, desc.Size
	default:
		if st, err := l.store.Status(ctx, remotes.MakeRefKey(ctx, desc)); err == nil {
			next.Offset = st.Offset
		} else if _, err := l.store.Info(ctx, desc.Digest); err == nil {
			next.State, next.Offset = Downloaded, desc.Size
		} else { // the download has not begun
			next.Offset = max(last.Offset, 0)
		}
	}

	return next
}
