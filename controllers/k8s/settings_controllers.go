// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/controllers/k8s/settings"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/platform"
)

// settingsControllers publish the control plane's settings in the machine configuration.
func settingsControllers(p platform.Platform) []controller.Controller {
	return []controller.Controller{
		onControlPlane("k8s.ControlPlaneAPIServerController", k8s.APIServerID, controller.Shared, settings.APIServer),
		onControlPlane("k8s.ControlPlaneControllerManagerController", k8s.ControllerManagerID, controller.Shared, settings.ControllerManager),
		onControlPlane("k8s.ControlPlaneSchedulerController", k8s.SchedulerID, controller.Shared, settings.Scheduler),
		onControlPlane("k8s.ControlPlaneAdmissionControlController", k8s.AdmissionControlID, controller.Exclusive, settings.AdmissionControl),
		onControlPlane("k8s.ControlPlaneAuditPolicyController", k8s.AuditPolicyID, controller.Exclusive, settings.AuditPolicy),
		onControlPlane("k8s.ControlPlaneAuthenticationController", k8s.AuthenticationID, controller.Exclusive, settings.Authentication),
		onControlPlane("k8s.ControlPlaneAuthorizationController", k8s.AuthorizationID, controller.Exclusive, settings.Authorization),
		fromconfig.Controller("k8s.ControlPlaneExtraManifestsController", k8s.ExtraManifestsID, controller.Exclusive, fromconfig.OnControlPlane(settings.ExtraManifests)),
		fromconfig.Controller("k8s.ControlPlaneBootstrapManifestsController", k8s.BootstrapManifestsID, controller.Exclusive,
			fromconfig.OnControlPlane(func(cfg *view.Config) (*k8s.BootstrapManifestsConfigSpec, error) {
				return settings.BootstrapManifests(cfg, p)
			})),
		fromconfig.Controller("k8s.NodeIPConfigController", k8s.NodeIPID, controller.Exclusive, always(settings.NodeIP)),
	}
}

func onControlPlane[S resource.Spec](name, id string, kind controller.OutputKind, build func(*view.Config) *S) controller.Controller {
	return fromconfig.Controller(name, id, kind, fromconfig.OnControlPlane(always(build)))
}

// always returns a build function that does not fail.
func always[S any](build func(*view.Config) *S) func(*view.Config) (*S, error) {
	return func(cfg *view.Config) (*S, error) { return build(cfg), nil }
}
