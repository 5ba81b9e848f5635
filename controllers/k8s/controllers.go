// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/platform"
)

// Deps are what the controllers need from outside.
type Deps struct {
	Supervisor Supervisor
	// Root of the file system; "/" when empty.
	Root string
	// Platform is where the machine runs.
	Platform platform.Platform
	// Fetch is nil where there is no containerd.
	Fetch Fetch
}

// Fetch downloads an image into a namespace of containerd, before it replaces the image of a running container.
type Fetch func(ctx context.Context, namespace, image string) error

// before fetches an image that replaces another one.
func (f Fetch) before(ctx context.Context, name, namespace, old, image string) error {
	if f == nil || old == "" || old == image {
		return nil
	}

	if err := f(ctx, namespace, image); err != nil {
		return fmt.Errorf("%s goes on with image %s: %w", name, old, err) // explain reads this
	}

	return nil
}

// Controllers returns the controllers of this domain.
func Controllers(deps Deps) []controller.Controller {
	root := deps.Root
	if root == "" {
		root = "/"
	}

	service := &kubeletServiceController{supervisor: deps.Supervisor, root: root, platform: deps.Platform, fetch: deps.Fetch}

	return slices.Concat(settingsControllers(deps.Platform), finalControllers(), nodeSpecControllers(), talosAccessControllers(root), []controller.Controller{
		etcdEncryptionConfigController(),
		renderSecretsController(root),
		renderConfigsController(root),
		staticPodController(deps.Fetch),
		staticPodConfigController(),
		staticPodFolderController(root),
		nodenameController(root),
		nodeIPController(),
		kubeletConfigController(),
		kubeletSpecController(deps.Platform),
		kubeletStatusController(),
		service.controller(),
		kubeletKubeconfigController(root),
		kubeletServingStatusController(root),
		nodeStatusController(root),
		nodeIdentityController(root),
		kubernetesPushController(),
		kubernetesPullController(root),
		servingApproverController(root),
		nodeCordonedController(),
		nodeApplyController(root),
		staticPodStatusController(root),
		fromconfig.AccessController("k8s.StaticEndpointController", k8s.EndpointControlPlane, controller.Shared, staticEndpoint),
		endpointController(root),
		keptEndpointController(),
		dnsSpreadController(root),
		kubePrismEndpointsController(),
		kubePrismConfigController(),
		&kubePrismController{},
		manifestController(),
		extraManifestController(),
		manifestApplyController(),
	})
}
