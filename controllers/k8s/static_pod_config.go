// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/config/v1alpha1"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// staticPodConfigController hands the static pods of the machine configuration (machine.pods) to the kubelet.
func staticPodConfigController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: "k8s.StaticPodConfigController",
		Reads:          []controller.Input{fromconfig.Input()},
		Writes:         []controller.Output{controller.Out[k8s.StaticPodSpec](controller.Shared)},
		Cleanup:        []resource.Kind{resource.KindOf[k8s.StaticPodSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			cfg, err := fromconfig.Main(ctx, rt)
			if err != nil || cfg == nil {
				return err
			}

			for i, pod := range cfg.Machine.Pods {
				id, err := staticPodID(pod)
				if err != nil {
					return fmt.Errorf("machine.pods[%d]: %w", i, err)
				}

				if err := typed.Set(ctx, rt, "", id, k8s.StaticPodSpec{Pod: pod}); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

// staticPodID names a pod of the configuration, apart from the control plane's.
func staticPodID(pod v1alpha1.Object) (string, error) {
	if kind, _ := pod["kind"].(string); kind != "Pod" {
		return "", fmt.Errorf("kind is %v, want Pod", pod["kind"])
	}

	metadata, _ := pod["metadata"].(map[string]any)

	name, _ := metadata["name"].(string)
	if name == "" {
		return "", fmt.Errorf("metadata.name is missing")
	}

	namespace, _ := metadata["namespace"].(string)

	return orDefault(namespace, "default") + "-" + name, nil
}
