// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
)

// Errors of Images; match them with errors.Is.
var (
	ErrReference = errors.New("not a reference of an image, such as registry.k8s.io/pause:3.10")
	ErrNoImage   = errors.New("no such image: see talosctl image list")
	ErrArchive   = errors.New("the archive holds no image with a name")
)

// criLabel marks an image as one that containerd's CRI plugin manages.
var criLabel = map[string]string{"io.cri-containerd.image": "managed"}

// Images of one namespace. It holds a connection.
type Images struct {
	client    *containerd.Client
	namespace string
	access    Access
}

// Stored is an image that containerd has.
type Stored struct {
	Name, Digest string
	// Size in bytes of the content for this machine's architecture; zero when a part of it is missing.
	Size    int64
	Created time.Time
	Labels  map[string]string
}

// OpenImages connects to containerd. Images come from registries with the machine's own access.
func OpenImages(socket, namespace string) (*Images, error) {
	return Access{}.OpenImages(socket, namespace)
}

// OpenImages connects to containerd.
func (a Access) OpenImages(socket, namespace string) (*Images, error) {
	client, err := containerd.New(socket, containerd.WithDefaultNamespace(namespace), containerd.WithTimeout(5*time.Second))
	if err != nil {
		return nil, fmt.Errorf("connect to containerd at %s: %w", socket, err)
	}

	return &Images{client: client, namespace: namespace, access: a}, nil
}

// Close ends the connection.
func (i *Images) Close() error { return i.client.Close() }

func (i *Images) context(ctx context.Context) context.Context {
	return namespaces.WithNamespace(ctx, i.namespace)
}

// List calls fn for each image.
func (i *Images) List(ctx context.Context, fn func(Stored) error) error {
	ctx = i.context(ctx)

	all, err := i.client.ListImages(ctx)
	if err != nil {
		return err
	}

	for _, image := range all {
		// The size of an incomplete image is unknown; it is listed all the same.
		size, err := image.Size(ctx)
		if err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("image %s: %w", image.Name(), err)
		}

		stored := Stored{
			Name: image.Name(), Digest: image.Target().Digest.String(), Size: size,
			Created: image.Metadata().CreatedAt, Labels: image.Labels(),
		}
		if err := fn(stored); err != nil {
			return err
		}
	}

	return nil
}

// Reference completes a short reference: nginx becomes docker.io/library/nginx:latest.
func Reference(text string) (string, error) {
	named, err := reference.ParseDockerRef(text)
	if err != nil {
		return "", fmt.Errorf("%.200q: %w: %w", text, ErrReference, err)
	}

	return named.String(), nil
}

// Pull downloads the image, from the image cache or a registry, unpacks it, and returns its complete name. progress, if set, is called
// for each layer, from one goroutine.
func (i *Images) Pull(ctx context.Context, ref string, progress func(LayerProgress)) (string, error) {
	name, err := Reference(ref)
	if err != nil {
		return "", err
	}

	ctx = i.context(ctx)

	resolver, tried, err := from(ctx, i.access)
	if err != nil {
		return "", fmt.Errorf("pull %s: %w", name, err)
	}

	opts := []containerd.RemoteOpt{containerd.WithPullUnpack, resolver}

	if i.namespace == NamespacePods {
		opts = append(opts, containerd.WithPullLabels(criLabel))
	}

	layers := newLayers(i.client.ContentStore())

	if progress != nil {
		opts = append(opts, containerd.WithImageHandler(layers))

		stop := layers.follow(ctx, progress)
		defer stop()
	}

	image, err := i.client.Pull(ctx, name, opts...)
	if err != nil {
		return "", fmt.Errorf("pull %s: %w", name, tried.Explain(err))
	}

	layers.done()

	return image.Name(), nil
}

// Remove removes an image by its listed name or a short reference. Content that other images share stays.
func (i *Images) Remove(ctx context.Context, ref string) error {
	ctx = i.context(ctx)

	err := i.client.ImageService().Delete(ctx, ref, images.SynchronousDelete())
	if !errdefs.IsNotFound(err) {
		return err
	}

	name, err := Reference(ref)
	if err != nil {
		return err
	}

	err = i.client.ImageService().Delete(ctx, name, images.SynchronousDelete())
	if errdefs.IsNotFound(err) {
		return fmt.Errorf("remove %s: %w", name, ErrNoImage)
	}

	return err
}
