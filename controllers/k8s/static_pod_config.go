// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/k8s/settings"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
)

// staticPodConfigController publishes the static pods of the machine configuration (machine.pods). It is not a fromconfig.Many, since it
// leaves out a pod that is not valid, and publishes the others.
func staticPodConfigController() controller.Controller {
	var cfg *view.Config

	return frominputs.Controller[k8s.StaticPodSpec]("k8s.StaticPodConfigController", controller.Shared, frominputs.List{
		frominputs.Config(&cfg),
	}, func(ctx context.Context, rt controller.Runtime, log *slog.Logger) error {
		for i, pod := range cfg.StaticPods() {
			id, err := settings.StaticPodID(pod)
			if err != nil {
				// Such a configuration is not accepted, but an older version may have stored it.
				log.ErrorContext(ctx, "a static pod is left out", "pod", fmt.Sprintf("machine.pods[%d]", i), "error", err)

				continue
			}

			if err := typed.Set(ctx, rt, "", id, k8s.StaticPodSpec{Pod: pod}); err != nil {
				return err
			}
		}

		return nil
	})
}
