// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
)

// Resource says how the objects of a kind are addressed.
type Resource struct {
	Name       string
	Namespaced bool
}

// ErrUnknownKind is the cause when the API server does not have the kind. A CustomResourceDefinition may add it later.
var ErrUnknownKind = errors.New("the API server does not know the kind")

// ResourceOf asks the API server how a kind is addressed, and caches the answer.
func (c *Client) ResourceOf(ctx context.Context, apiVersion, kind string) (Resource, error) {
	c.mu.Lock()
	resource, ok := c.resources[apiVersion][kind]
	c.mu.Unlock()

	if ok {
		return resource, nil
	}

	list, err := c.Get(ctx, groupPath(apiVersion))
	if IsNotFound(err) {
		return Resource{}, fmt.Errorf("%s %s: %w", apiVersion, kind, ErrUnknownKind)
	}

	if err != nil {
		return Resource{}, err
	}

	kinds := map[string]Resource{}

	for _, r := range Items(list, "resources") {
		of := At[string](r, "kind")

		// Subresources (pods/status) are listed with the same kind, after the objects themselves.
		if _, known := kinds[of]; !known {
			kinds[of] = Resource{Name: At[string](r, "name"), Namespaced: At[bool](r, "namespaced")}
		}
	}

	c.mu.Lock()
	c.resources[apiVersion] = kinds
	c.mu.Unlock()

	if resource, ok = kinds[kind]; !ok {
		return Resource{}, fmt.Errorf("%s %s: %w", apiVersion, kind, ErrUnknownKind)
	}

	return resource, nil
}

// PathOf returns the path of an object. Without a namespace it is in default.
func (c *Client) PathOf(ctx context.Context, object Object) (string, error) {
	apiVersion, kind, namespace, name := Identity(object)
	if apiVersion == "" || kind == "" || name == "" {
		return "", fmt.Errorf("object %s %s %q: apiVersion, kind and metadata.name must be set", apiVersion, kind, name)
	}

	resource, err := c.ResourceOf(ctx, apiVersion, kind)
	if err != nil {
		return "", err
	}

	path := groupPath(apiVersion)

	if resource.Namespaced {
		path += "/namespaces/" + url.PathEscape(cmp.Or(namespace, "default"))
	}

	return path + "/" + resource.Name + "/" + url.PathEscape(name), nil
}

func groupPath(apiVersion string) string {
	if apiVersion == "v1" {
		return "/api/v1"
	}

	return "/apis/" + apiVersion
}
