// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// prepareServing removes a serving certificate that is not valid any more, and on a control plane creates the first one. A worker's kubelet
// cannot serve until its request is approved and signed.
func prepareServing(dir string, spec k8s.KubeletSpecSpec, join secrets.KubeletSpec, issuer *secrets.KubernetesRootSpec, log *slog.Logger) error {
	if !kubelet.ServesByCluster(spec) {
		return nil
	}

	if reason := kubelet.StaleServing(os.DirFS(dir), spec.ExpectedNodename, join, time.Now()); reason != "" {
		log.Info("the kubelet requests another serving certificate", "reason", reason)

		if err := os.Remove(filepath.Join(dir, kubelet.CurrentServingCert)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("kubelet: remove its serving certificate: %w", err)
		}
	}

	ips := kubelet.NodeIPs(spec)
	if issuer == nil || len(ips) == 0 || exists(filepath.Join(dir, kubelet.CurrentServingCert)) {
		return nil
	}

	identity, err := kubelet.NewServingIdentity(*issuer, spec.ExpectedNodename, ips)
	if err != nil {
		return err
	}

	return writeIdentity(dir, kubelet.CurrentServingCert, identity)
}
