// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Event is a change of a watched object.
type Event struct {
	// Type is ADDED, MODIFIED or DELETED.
	Type   string
	Object Object
}

// watchFor is how long the server keeps one watch open.
const watchFor = 10 * time.Minute

// pageSize is the number of objects of a list in memory at a time.
const pageSize = 100

// Watch lists a collection with a selector and follows its changes, until ctx is done or the server ends the watch; then it returns nil. It calls
// fn for each object of the list (as ADDED), once with an empty Type at the end of the list, and for each change.
func (c *Client) Watch(ctx context.Context, path, fieldSelector string, fn func(Event) error) error {
	query := url.Values{}
	if fieldSelector != "" {
		query.Set("fieldSelector", fieldSelector)
	}

	version, err := c.list(ctx, path, query, fn)
	if err != nil {
		return err
	}

	if err := fn(Event{}); err != nil {
		return err
	}

	query.Set("watch", "true")
	query.Set("resourceVersion", version)
	query.Set("timeoutSeconds", fmt.Sprint(int(watchFor.Seconds())))

	ctx, cancel := context.WithTimeout(ctx, watchFor+requestTimeout)
	defer cancel()

	response, err := c.send(ctx, http.MethodGet, path+"?"+query.Encode(), "", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()

	decoder := json.NewDecoder(response.Body)

	for {
		var event Event

		if err := decoder.Decode(&event); err != nil {
			if errors.Is(err, io.EOF) || ctx.Err() != nil {
				return nil
			}

			return fmt.Errorf("Kubernetes API: watch %s: %w", path, err)
		}

		if event.Type == "ERROR" {
			return nil // the version is too old: the caller lists again
		}

		if err := fn(event); err != nil {
			return err
		}
	}
}

// list calls fn for each object of a collection, and returns the collection's version. It reads one page at a time.
func (c *Client) list(ctx context.Context, path string, query url.Values, fn func(Event) error) (version string, err error) {
	query = maps.Clone(query)
	query.Set("limit", strconv.Itoa(pageSize))

	for {
		list, err := c.Get(ctx, path+"?"+query.Encode())
		if err != nil {
			return "", err
		}

		for _, object := range Items(list, "items") {
			if err := fn(Event{Type: "ADDED", Object: object}); err != nil {
				return "", err
			}
		}

		next := At[string](list, "metadata", "continue")
		if next == "" {
			return At[string](list, "metadata", "resourceVersion"), nil
		}

		query.Set("continue", next)
	}
}
