// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/config"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/sys/platform"
)

// kubeletSpecController combines the kubelet's settings with the node's name and addresses.
func kubeletSpecController(p platform.Platform) controller.Controller {
	var (
		settings    k8s.KubeletConfigSpec
		nodename    k8s.NodenameSpec
		ips         k8s.NodeIPSpec
		machineType config.MachineTypeSpec
	)

	return frominputs.One("k8s.KubeletSpecController", k8s.KubeletID, controller.Exclusive, frominputs.List{
		frominputs.Of(k8s.KubeletID, &settings),
		frominputs.Of(k8s.NodenameID, &nodename),
		frominputs.Of(k8s.NodeIPID, &ips),
		frominputs.Of(config.MachineTypeID, &machineType),
	}, func() (*k8s.KubeletSpecSpec, error) {
		spec, err := kubelet.Spec(settings, kubelet.Node{
			Name: nodename.Nodename, IPs: ips.Addresses, ControlPlane: machineType.MachineType.IsControlPlane(),
			Platform: p,
		})

		return &spec, err
	})
}

// kubeletStatusController publishes which kubelet runs.
func kubeletStatusController() controller.Controller {
	var spec k8s.KubeletSpecSpec

	return frominputs.One("k8s.KubeletStatusController", k8s.KubeletID, controller.Exclusive, frominputs.List{
		healthy(KubeletServiceID),
		frominputs.Of(k8s.KubeletID, &spec),
	}, func() (*k8s.KubeletStatusSpec, error) {
		return &k8s.KubeletStatusSpec{Image: spec.Image}, nil
	})
}
