// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s

import (
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
}

// Controllers of this domain.
func Controllers(deps Deps) []controller.Controller {
	root := deps.Root
	if root == "" {
		root = "/"
	}

	service := &kubeletServiceController{supervisor: deps.Supervisor, root: root, platform: deps.Platform}

	return slices.Concat(settingsControllers(deps.Platform), finalControllers(), nodeSpecControllers(), []controller.Controller{
		etcdEncryptionConfigController(),
		renderSecretsController(root),
		renderConfigsController(root),
		staticPodController(root),
		staticPodConfigController(),
		staticPodFolderController(root),
		nodenameController(),
		nodeIPController(),
		kubeletConfigController(),
		kubeletSpecController(deps.Platform),
		kubeletStatusController(),
		service.controller(),
		kubeletKubeconfigController(root),
		nodeStatusController(root),
		nodeCordonedController(),
		nodeApplyController(root),
		staticPodStatusController(root),
		fromconfig.AccessController("k8s.StaticEndpointController", k8s.EndpointControlPlane, controller.Shared, staticEndpoint),
		endpointController(root),
		kubePrismEndpointsController(),
		kubePrismConfigController(),
		kubePrismController{},
		manifestController(),
		extraManifestController(),
		manifestApplyController(),
	})
}
