// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/kube/kubeconfig"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// Intervals at which the kubelet's certificate is read, before and after it exists. The kubelet writes it through symbolic links into
// another folder than its kubeconfig, for which file notifications are a poor fit.
const (
	identityPollNew  = time.Second
	identityPollHeld = 30 * time.Second
)

// kubeletKubeconfigController publishes that the kubelet can authenticate: its kubeconfig exists, and the certificate that this names.
func kubeletKubeconfigController(root string) controller.Controller {
	path := filepath.Join(root, kubelet.KubeconfigFile)

	var join secrets.KubeletSpec

	return frominputs.Controller[k8s.KubeletKubeconfigSpec]("k8s.KubeletKubeconfigController", controller.Exclusive, frominputs.List{
		healthy(KubeletServiceID).Optional(),
		frominputs.Of(secrets.KubeletID, &join).Optional(),
	}, func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
		config, err := kubeletIdentity(path)
		if errors.Is(err, fs.ErrNotExist) {
			return controller.Requeue(identityPollNew)
		}

		if err == nil && join.EndpointTLSServerName != "" {
			config.TLSServerName = join.EndpointTLSServerName
			err = nameServer(path, join.EndpointTLSServerName)
		}

		if err != nil {
			return err
		}

		sum := sha256.Sum256(append([]byte(config.Server+config.TLSServerName), config.Crt...))
		err = typed.Set(ctx, rt, "", k8s.KubeletID, k8s.KubeletKubeconfigSpec{Hash: hex.EncodeToString(sum[:])})

		return controller.RequeueWith(err, identityPollHeld)
	})
}

// kubeletIdentity reads the kubelet's kubeconfig with its certificate.
func kubeletIdentity(path string) (kubeconfig.Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return kubeconfig.Config{}, err
	}

	return kubeconfig.Parse(text)
}

// nameServer adds the name by which API servers are verified to the kubelet's kubeconfig. The kubelet knows the name from its bootstrap
// kubeconfig, but writes its own without it: its next start would fail, and so would the node's own requests.
func nameServer(path, name string) error {
	file, err := kubeconfig.Read(path)
	if err != nil || !file.SetTLSServerName(name) {
		return err
	}

	return kubeconfig.Write(path, file)
}
