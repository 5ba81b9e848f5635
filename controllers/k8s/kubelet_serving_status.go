// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// How often it is looked whether the kubelet has got, or renewed, the certificate that it serves with.
const (
	servingPollNew  = 2 * time.Second
	servingPollHeld = 30 * time.Second
)

// kubeletServingStatusController publishes whether the kubelet has a certificate of the cluster to serve with. There is no status where
// the configuration has it serve with another.
func kubeletServingStatusController(root string) controller.Controller {
	var poll *time.Timer

	return &controller.Reconciler{
		ControllerName: "k8s.KubeletServingStatusController",
		Reads: []controller.Input{
			serviceInput(KubeletServiceID),
			controller.In[k8s.KubeletSpecSpec](controller.Weak, "", k8s.KubeletID),
			controller.In[secrets.KubeletSpec](controller.Weak, "", secrets.KubeletID),
		},
		Writes:  []controller.Output{controller.Out[k8s.KubeletServingStatusSpec](controller.Exclusive)},
		Cleanup: []resource.Kind{resource.KindOf[k8s.KubeletServingStatusSpec]("")},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			var (
				spec k8s.KubeletSpecSpec
				join secrets.KubeletSpec
			)

			if poll != nil {
				poll.Stop()
			}

			ok, err := typed.All(typed.Read(ctx, rt, k8s.KubeletID, &spec), typed.Read(ctx, rt, secrets.KubeletID, &join))
			if err != nil || !ok || !kubelet.ServesByCluster(spec) {
				return err
			}

			if up, err := serviceHealthy(ctx, rt, KubeletServiceID); err != nil || !up {
				return err
			}

			status := kubelet.Serving(os.DirFS(filepath.Join(root, kubelet.PKIDir)), spec.ExpectedNodename, kubelet.NodeIPs(spec), join, time.Now())

			interval := servingPollHeld
			if !status.Ready {
				interval = servingPollNew
			}

			poll = time.AfterFunc(interval, rt.QueueReconcile)

			return typed.Set(ctx, rt, "", k8s.KubeletID, status)
		},
	}
}
