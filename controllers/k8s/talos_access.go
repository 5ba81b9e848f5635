// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/kubeaccess"
)

// talosAccessControllers give pods access to the API of the machines.
func talosAccessControllers(root string) []controller.Controller {
	return []controller.Controller{
		fromconfig.Controller("kubeaccess.ConfigController", kubeaccess.ConfigID, controller.Exclusive, fromconfig.OnControlPlane(always(talosAccess))),
		talosEndpointController(root),
		talosAccountsController(root),
	}
}

// talosAccess returns the settings of the access.
func talosAccess(cfg *view.Config) *kubeaccess.ConfigSpec {
	access, enabled := cfg.TalosAPIAccess()
	if !enabled {
		return &kubeaccess.ConfigSpec{}
	}

	return &kubeaccess.ConfigSpec{Enabled: true, AllowedAPIRoles: access.Roles, AllowedKubernetesNamespaces: access.Namespaces}
}
