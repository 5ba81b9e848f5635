// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/seed-59268b81/talos/install/trial"
)

// images are the images that a change needs and the machine does not have. What runs goes on with its former image until the new one is there, so
// the services say nothing about it.
type images struct {
	mu sync.Mutex
	// pulls are the pulls that run, and failed has why the last pull of an image failed.
	pulls  map[*pull]struct{}
	failed map[string]string
	trial  string
	// changed is called when what is missing has changed.
	changed func()
}

// pull is the pull of an image. Its failure says nothing once former is set: it began for a configuration that another one has replaced. Who
// needs the image still pulls it again.
type pull struct {
	image  string
	former bool
}

// Fetch returns fetch, which pulls an image, for controllers that replace the image of what runs. A trial waits for what they pull.
func (c *Controller) Fetch(fetch func(ctx context.Context, namespace, image string) error) func(ctx context.Context, namespace, image string) error {
	return func(ctx context.Context, namespace, image string) error {
		p := c.images.begin(image)
		err := fetch(ctx, namespace, image)
		c.images.end(p, err)

		return err
	}
}

// begin notes a pull. One that failed before keeps its reason meanwhile.
func (i *images) begin(image string) *pull {
	i.mu.Lock()
	defer i.mu.Unlock()

	if i.pulls == nil {
		i.pulls, i.failed = map[*pull]struct{}{}, map[string]string{}
	}

	p := &pull{image: image}
	i.pulls[p] = struct{}{}
	i.notify()

	return p
}

func (i *images) end(p *pull, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()

	delete(i.pulls, p)

	switch {
	case err == nil:
		delete(i.failed, p.image)
	case !p.former:
		i.failed[p.image] = err.Error()
	}

	i.notify()
}

func (i *images) notify() {
	if i.changed != nil {
		i.changed()
	}
}

// follow forgets what failed when a trial is over: the next configuration may not need it. What is being pulled counts for a trial that takes
// the place of another one. A configuration that was reverted needs nothing any more.
func (i *images) follow(trial string, changed func()) {
	i.mu.Lock()
	defer i.mu.Unlock()

	if i.trial != "" && i.trial != trial {
		clear(i.failed)

		for p := range i.pulls {
			p.former = true
		}

		if trial == "" {
			clear(i.pulls)
		}
	}

	i.trial, i.changed = trial, changed
}

// condition returns the condition of the images: all are there.
func (i *images) condition() trial.Condition {
	i.mu.Lock()
	defer i.mu.Unlock()

	missing := maps.Clone(i.failed)
	for p := range i.pulls {
		if missing[p.image] == "" {
			missing[p.image] = "it is being pulled"
		}
	}

	var why []string
	for _, image := range slices.Sorted(maps.Keys(missing)) {
		why = append(why, fmt.Sprintf("%s is not there: %s", image, missing[image]))
	}

	return trial.Condition{Name: "images", Kind: trial.OwnBefore, Met: len(why) == 0, Why: strings.Join(why, "; ")}
}
