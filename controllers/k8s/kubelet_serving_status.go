// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/cosi/controller"
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
	var (
		spec k8s.KubeletSpecSpec
		join secrets.KubeletSpec
	)

	return frominputs.Controller[k8s.KubeletServingStatusSpec]("k8s.KubeletServingStatusController", controller.Exclusive, frominputs.List{
		frominputs.Of(k8s.KubeletID, &spec),
		frominputs.Of(secrets.KubeletID, &join),
		healthy(KubeletServiceID),
	}, func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
		if !kubelet.ServesByCluster(spec) {
			return nil
		}

		status := kubelet.Serving(os.DirFS(filepath.Join(root, kubelet.PKIDir)), spec.ExpectedNodename, kubelet.NodeIPs(spec), join, time.Now())

		interval := servingPollHeld
		if !status.Ready {
			interval = servingPollNew
		}

		return controller.RequeueWith(typed.Set(ctx, rt, "", k8s.KubeletID, status), interval)
	})
}
