// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"iter"

	cosiapi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
)

// Kind names a set of resources.
type Kind struct {
	Namespace string
	// Type in full, such as AddressStatuses.net.talos.dev; Definitions.Find turns an alias into it.
	Type string
}

func (k Kind) String() string { return k.Type + " in namespace " + k.Namespace }

// Resource returns one resource: metadata, and the spec as YAML.
func (c *Client) Resource(ctx context.Context, kind Kind, id string) (*cosiapi.Resource, error) {
	r, err := c.State.Get(ctx, &cosiapi.GetRequest{Namespace: kind.Namespace, Type: kind.Type, Id: id})
	if err != nil {
		return nil, fmt.Errorf("get %s of %s: %w", id, kind, err)
	}

	return r.GetResource(), checkResource(r.GetResource())
}

// Resources streams the resources of a kind.
func (c *Client) Resources(ctx context.Context, kind Kind) iter.Seq2[*cosiapi.Resource, error] {
	received := receive(ctx, "list "+kind.String(), c.State.List, &cosiapi.ListRequest{Namespace: kind.Namespace, Type: kind.Type})

	return decoded(received, func(m *cosiapi.ListResponse) (*cosiapi.Resource, bool, error) {
		return m.GetResource(), false, checkResource(m.GetResource())
	})
}

// WatchResources streams the resources of a kind and then every change, until the context ends. An id other than "" selects one
// resource. An event of type BOOTSTRAPPED, which has no resource, marks the end of the initial resources; a watch of one
// resource has none.
func (c *Client) WatchResources(ctx context.Context, kind Kind, id string) iter.Seq2[*cosiapi.Event, error] {
	request := &cosiapi.WatchRequest{Namespace: kind.Namespace, Type: kind.Type, ApiVersion: 1, Options: &cosiapi.WatchOptions{BootstrapContents: id == ""}}
	if id != "" {
		request.Id = &id
	}

	return func(yield func(*cosiapi.Event, error) bool) {
		received := receive(ctx, "watch "+kind.String(), c.State.Watch, request)

		for m, err := range received {
			if err != nil {
				yield(nil, err)

				return
			}

			// The first message of a watch may contain no event.
			for _, event := range m.GetEvent() {
				err := checkEvent(event)
				if err != nil {
					err = fmt.Errorf("watch %s: %w", kind, err)
				}

				if event.GetEventType() == cosiapi.EventType_NOOP {
					continue
				}

				if !yield(event, err) || err != nil {
					return
				}
			}
		}
	}
}

func checkEvent(event *cosiapi.Event) error {
	switch event.GetEventType() {
	case cosiapi.EventType_ERRORED:
		return errors.New(event.GetError())
	case cosiapi.EventType_CREATED, cosiapi.EventType_UPDATED, cosiapi.EventType_DESTROYED:
		return checkResource(event.GetResource())
	default:
		return nil
	}
}

func checkResource(r *cosiapi.Resource) error {
	if r.GetMetadata() == nil {
		return errors.New("the server sent a resource without metadata")
	}

	return nil
}
