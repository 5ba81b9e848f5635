// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/k8s/settings"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// kubeletConfigController copies the kubelet's settings, once the folder of static pods is written.
func kubeletConfigController() controller.Controller {
	var cfg *view.Config

	return frominputs.One("k8s.KubeletConfigController", k8s.KubeletID, controller.Exclusive, frominputs.List{
		frominputs.Config(&cfg),
		frominputs.Of(k8s.StaticPodServerID, &k8s.StaticPodServerStatusSpec{}),
	}, func() (*k8s.KubeletConfigSpec, error) {
		return new(settings.Kubelet(cfg)), nil
	})
}
