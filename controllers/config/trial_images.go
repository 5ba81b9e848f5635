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
	// missing has why an image is not there.
	missing map[string]string
	// era counts how often all were forgotten: a pull that began before that is about an earlier configuration.
	era   int
	trial string
	// changed is called when what is missing has changed.
	changed func()
}

// Fetch returns fetch, which pulls an image, for controllers that replace the image of what runs. A trial waits for what they pull.
func (c *Controller) Fetch(fetch func(ctx context.Context, namespace, image string) error) func(ctx context.Context, namespace, image string) error {
	return func(ctx context.Context, namespace, image string) error {
		era := c.images.begin(image)
		err := fetch(ctx, namespace, image)
		c.images.end(image, era, err)

		return err
	}
}

// begin notes a pull. One that failed before keeps its reason meanwhile.
func (i *images) begin(image string) (era int) {
	i.mu.Lock()
	defer i.mu.Unlock()

	if i.missing == nil {
		i.missing = map[string]string{}
	}

	if _, failed := i.missing[image]; !failed {
		i.missing[image] = "it is being pulled"
		i.notify()
	}

	return i.era
}

func (i *images) end(image string, era int, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()

	switch {
	case err == nil:
		delete(i.missing, image)
	case era == i.era:
		i.missing[image] = err.Error()
	}

	i.notify()
}

func (i *images) notify() {
	if i.changed != nil {
		i.changed()
	}
}

// follow forgets what is missing when a trial is over: a configuration that was reverted needs nothing any more.
func (i *images) follow(trial string, changed func()) {
	i.mu.Lock()
	defer i.mu.Unlock()

	if i.trial != "" && i.trial != trial {
		clear(i.missing)
		i.era++
	}

	i.trial, i.changed = trial, changed
}

// condition returns the condition of the images: all are there.
func (i *images) condition() trial.Condition {
	i.mu.Lock()
	defer i.mu.Unlock()

	var why []string
	for _, image := range slices.Sorted(maps.Keys(i.missing)) {
		why = append(why, fmt.Sprintf("%s is not there: %s", image, i.missing[image]))
	}

	return trial.Condition{Name: "images", Kind: trial.OwnBefore, Met: len(why) == 0, Why: strings.Join(why, "; ")}
}
