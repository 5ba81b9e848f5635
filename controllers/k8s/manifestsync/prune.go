// SPDX-License-Identifier: Apache-2.0

package manifestsync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/seed-59268b81/talos/kube"
)

// prune deletes the objects that this node rendered before and does not render any more, and returns them. It also removes obsolete records.
func (c Cluster) prune(ctx context.Context, wanted []kube.Object, records map[string]rendered) ([]kube.Object, error) {
	var (
		keys   = map[string]bool{} // without versions
		ids    = map[string]bool{}
		own    = records[c.Node]
		pruned []kube.Object
		errs   []error
	)

	for _, object := range wanted {
		keys[inventoryKey(object)], ids[identity(object)] = true, true
	}

	for _, id := range slices.Sorted(maps.Keys(own)) {
		if ids[id] {
			continue
		}

		object, ok := identified(id)
		if !ok || keys[inventoryKey(object)] || lasting(object) {
			delete(own, id)

			continue
		}

		others, err := c.renderedElsewhere(ctx, inventoryKey(object), records)
		if err == nil && !others {
			var deleted bool

			if deleted, err = c.remove(ctx, object); deleted {
				pruned = append(pruned, object)
			}
		}

		if err != nil {
			errs = append(errs, fmt.Errorf("delete %s: %w", id, err))

			continue
		}

		delete(own, id)
	}

	return pruned, errors.Join(errs...)
}

// lasting reports whether other objects would be deleted with the object.
func lasting(object kube.Object) bool {
	return object["kind"] == "Namespace" || object["kind"] == "CustomResourceDefinition"
}

// renderedElsewhere reports whether another node of the cluster renders the object. It removes the records of nodes that do not exist any more.
func (c Cluster) renderedElsewhere(ctx context.Context, key string, records map[string]rendered) (bool, error) {
	for node, one := range records {
		if node == c.Node {
			continue
		}

		for id := range one {
			object, ok := identified(id)
			if !ok || inventoryKey(object) != key {
				continue
			}

			_, err := c.Client.Get(ctx, "/api/v1/nodes/"+url.PathEscape(node))
			if !kube.IsNotFound(err) {
				return true, err
			}

			delete(records, node)

			break
		}
	}

	return false, nil
}

// remove deletes an object if the system has applied it.
func (c Cluster) remove(ctx context.Context, object kube.Object) (bool, error) {
	path, err := c.Client.PathOf(ctx, object)
	if errors.Is(err, kube.ErrUnknownKind) {
		return false, nil // it was removed with its definition
	}

	if err != nil {
		return false, err
	}

	live, err := c.Client.Get(ctx, path)
	if kube.IsNotFound(err) || err == nil && !appliedBy(live, fieldManager) {
		return false, nil
	}

	if err != nil {
		return false, err
	}

	if err := c.Client.Delete(ctx, path, kube.At[string](live, "metadata", "uid")); err != nil && !kube.IsNotFound(err) {
		return false, err
	}

	return true, nil
}

// appliedBy reports whether a manager has applied an object.
func appliedBy(object kube.Object, manager string) bool {
	return slices.ContainsFunc(kube.Items(object, "metadata", "managedFields"), func(entry kube.Object) bool {
		return entry["manager"] == manager && entry["operation"] == "Apply"
	})
}
