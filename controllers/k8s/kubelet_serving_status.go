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

// Intervals at which the kubelet's serving certificate is read, before and after there is a valid one.
const (
	servingPollNew  = 2 * time.Second
	servingPollHeld = 30 * time.Second
)

// kubeletServingStatusController publishes whether the kubelet has a serving certificate of the cluster. There is no status when the
// configuration sets another certificate.
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
