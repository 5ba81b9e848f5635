// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"fmt"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/errdefs"
)

// Tag gives an image of Kubernetes' pods, which containerd has by its digest, another name, for the containerd at a socket. CRI follows the event.
func Tag(ctx context.Context, socket, name, digested string) error {
	client, err := containerd.New(socket, containerd.WithDefaultNamespace(NamespacePods))
	if err != nil {
		return fmt.Errorf("name image %s: connect to containerd at %s: %w", name, socket, err)
	}
	defer client.Close()

	ctx = namespaces.WithNamespace(ctx, NamespacePods)
	all := client.ImageService()

	image, err := all.Get(ctx, digested)
	if err != nil {
		return fmt.Errorf("name image %s: %w", name, err)
	}

	named := images.Image{Name: name, Target: image.Target, Labels: image.Labels}

	if _, err = all.Update(ctx, named); errdefs.IsNotFound(err) {
		_, err = all.Create(ctx, named)
	}

	if err != nil {
		return fmt.Errorf("name image %s: %w", name, err)
	}

	return nil
}

// pinnedLabel keeps an image of Kubernetes' pods from being removed with unused ones.
var pinnedLabel = map[string]string{"io.cri-containerd.image": "managed", "io.cri-containerd.pinned": "pinned"}

// pullForPods has an image of Kubernetes' pods that containerd would pull by itself, so not verified, before a pod needs it.
func pullForPods(ctx context.Context, client *containerd.Client, ref string) error {
	name, err := Reference(ref)
	if err != nil {
		return err
	}

	i := &Images{client: client, namespace: NamespacePods}
	ctx = i.context(ctx)

	image, err := stored(ctx, client, name)
	if err == nil || image != nil {
		return err
	}

	resolver, tried, err := from(ctx, i.access)
	if err != nil {
		return err
	}

	if _, err := client.Pull(ctx, name, containerd.WithPullUnpack, containerd.WithPullLabels(pinnedLabel), resolver); err != nil {
		return fmt.Errorf("pull image %s: %w", name, tried.Explain(err))
	}

	return nil
}
