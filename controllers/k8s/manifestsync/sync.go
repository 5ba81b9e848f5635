// SPDX-License-Identifier: Apache-2.0

// Package manifestsync updates the objects of a cluster from the manifests that its control planes render.
//
// A missing object is created. An existing object belongs to the administrators of the cluster: it is changed only when this node renders it
// differently than last time, according to a hash in a ConfigMap. So an edit of the machine configuration changes the object, and nothing else
// does. The change is a server-side apply. Fields that the manifest does not set stay, and so do fields that another client has changed: the
// API server names that client as their owner.
//
// An object that is not rendered any more is deleted if this node rendered it before, no other node of the cluster renders it, and the system
// has applied it. Namespaces and definitions of resources stay, since their contents would be deleted with them.
//
// Each node has its own record, since control planes are not configured at the same time: a node that still has the old configuration neither
// reverts nor deletes what another node has applied.
package manifestsync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/kube"
)

// fieldManager owns the fields of what this system applies.
const fieldManager = "talos"

const (
	// How often, and at which interval, the creation of an object in a missing namespace is tried again.
	namespaceAttempts = 10
	namespaceWait     = 500 * time.Millisecond
	// conflictRounds is how often an object is applied without the fields of conflicts: each round may find more conflicts.
	conflictRounds = 5
	// atATime is how many objects are applied at a time.
	atATime = 4
)

// Cluster is what is synchronized.
type Cluster struct {
	Client *kube.Client
	// Node is this node.
	Node string
	// Key of the hashes. With another key all objects count as changed.
	Key []byte
	Log *slog.Logger
}

// Sync creates, changes and deletes objects, and returns the names of the manifests without a failed object. A failed object does not block the
// others. Nothing is deleted unless the manifests are complete. The caller holds the cluster's lock.
func (c Cluster) Sync(ctx context.Context, all []manifests.Manifest, complete bool) ([]string, error) {
	records, err := readRecords(ctx, c.Client)
	if err != nil {
		return nil, err
	}

	before := maps.Clone(records)

	own := maps.Clone(records[c.Node])
	if own == nil {
		own = rendered{}
	}

	records[c.Node] = own

	var (
		errs   []error
		failed = map[string]bool{}
		done   = map[string][]string{} // objects by what was done
		pruned []kube.Object
		stages = manifests.Stages(all)
		wanted = slices.Concat(stages...)
	)

	for _, stage := range stages {
		outcomes, err := c.stage(ctx, stage, own)
		if err != nil {
			return nil, err
		}

		for i, object := range stage {
			id, o := identity(object), outcomes[i]

			if o.err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", id, o.err))
				failed[id] = true

				continue
			}

			own[id] = o.hash
			done[o.did] = append(done[o.did], id)
		}

		if ctx.Err() != nil {
			return nil, errors.Join(errs...)
		}
	}

	if complete && len(errs) == 0 {
		pruned, err = c.prune(ctx, wanted, records)
		errs = append(errs, err)
	}

	for _, object := range pruned {
		done[deleted] = append(done[deleted], identity(object))
	}

	for _, what := range []string{created, changed, deleted} {
		if len(done[what]) > 0 {
			c.Log.InfoContext(ctx, "bootstrap manifests: objects "+what, "objects", done[what])
		}
	}

	if len(failed) == 0 || len(pruned) > 0 {
		errs = append(errs, writeInventory(ctx, c.Client, wanted, pruned))
	}

	if !maps.EqualFunc(before, records, maps.Equal[rendered, rendered]) {
		errs = append(errs, writeRecords(ctx, c.Client, records))
	}

	var whole []string

	for _, manifest := range all {
		ok := true
		for _, object := range manifest.Objects {
			ok = ok && !failed[identity(object)]
		}

		if ok {
			whole = append(whole, manifest.Name)
		}
	}

	return whole, errors.Join(errs...)
}

// What was done with an object; empty for nothing.
const (
	created = "created"
	changed = "changed"
	deleted = "deleted"
)

// outcome is what became of an object.
type outcome struct {
	did, hash string
	err       error
}

// stage creates and changes the objects of a stage, some at a time: an API server that has just started is slow to answer.
func (c Cluster) stage(ctx context.Context, objects []kube.Object, own rendered) ([]outcome, error) {
	var (
		all   guard.Group
		turns = make(chan struct{}, atATime)
		out   = make([]outcome, len(objects))
	)

	for i, object := range objects {
		turns <- struct{}{}

		all.Go(func() error {
			defer func() { <-turns }()

			out[i].did, out[i].hash, out[i].err = c.one(ctx, object, own)

			return nil
		})
	}

	return out, all.Wait()
}

// one creates or changes an object, if needed, and returns its hash.
func (c Cluster) one(ctx context.Context, object kube.Object, own rendered) (did, sum string, err error) {
	if sum, err = hash(c.Key, object); err != nil {
		return "", "", err
	}

	path, err := c.Client.PathOf(ctx, object)
	if err != nil {
		return "", "", err
	}

	_, err = c.Client.Get(ctx, path)

	switch last, known := own[identity(object)]; {
	case kube.IsNotFound(err):
		did, err = created, c.create(ctx, path, object)
	case err == nil && known && last != sum:
		did, err = changed, c.change(ctx, path, object)
	}

	return did, sum, err
}

// create tries again while the object's namespace is missing: in an API server that has just started, some parts do not know a new namespace
// at once.
func (c Cluster) create(ctx context.Context, path string, object kube.Object) error {
	for attempt := 0; ; attempt++ {
		_, err := c.Client.Apply(ctx, path, fieldManager, object)
		if !kube.IsNotFound(err) || attempt == namespaceAttempts {
			return err
		}

		select {
		case <-ctx.Done():
			return err
		case <-time.After(namespaceWait):
		}
	}
}

// change applies the object, without the fields that another client has changed.
func (c Cluster) change(ctx context.Context, path string, object kube.Object) error {
	var left []string

	for range conflictRounds {
		_, err := c.Client.ApplyUncontested(ctx, path, fieldManager, object)

		causes := kube.Conflicts(err)
		if len(causes) == 0 {
			if err == nil && len(left) > 0 {
				c.Log.WarnContext(ctx, "bootstrap manifests: fields that another client has changed stay", "object", identity(object), "fields", left)
			}

			return err
		}

		if object, err = clone(object); err != nil {
			return err
		}

		for _, cause := range causes {
			if !remove(object, cause.Field) {
				return err
			}

			left = append(left, cause.Field+" ("+cause.Message+")")
		}
	}

	return fmt.Errorf("gave up after too many conflicts about fields of other clients: %q", left)
}
