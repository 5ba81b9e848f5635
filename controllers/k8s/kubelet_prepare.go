// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/secrets"
)

// prepareKubelet writes the kubelet's files, and removes the identity of another node or cluster. It runs only while the kubelet is down.
func prepareKubelet(
	root string, spec k8s.KubeletSpecSpec, join secrets.KubeletSpec, issuer *secrets.KubernetesRootSpec, files map[string][]byte, log *slog.Logger,
) error {
	// The kubelet's folders on EPHEMERAL are created with the volume.
	if err := os.MkdirAll(filepath.Join(root, kubelet.ManifestsDir), 0o700); err != nil {
		return fmt.Errorf("kubelet: %w", err)
	}

	for _, m := range spec.ExtraMounts {
		if m.Type == "bind" && m.Source != "" && !exists(filepath.Join(root, m.Source)) {
			if err := os.MkdirAll(filepath.Join(root, m.Source), 0o700); err != nil {
				return fmt.Errorf("machine.kubelet.extraMounts: source of %s: %w", m.Destination, err)
			}
		}
	}

	if spec.ExpectedNodename != "" {
		dir := filepath.Join(root, kubelet.PKIDir)

		if err := forgetSubnet(root, kubelet.RegisteredName(os.DirFS(dir), join), spec.ExpectedNodename); err != nil {
			return err
		}

		if err := prepareIdentity(dir, spec.ExpectedNodename, join, issuer, log); err != nil {
			return err
		}

		if err := prepareServing(dir, spec, join, issuer, log); err != nil {
			return err
		}
	}

	// At its start the kubelet writes a missing kubeconfig from the bootstrap kubeconfig. So it gets a changed endpoint.
	if err := os.Remove(filepath.Join(root, kubelet.KubeconfigFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("kubelet: remove its kubeconfig: %w", err)
	}

	for _, path := range slices.Sorted(maps.Keys(files)) {
		target := filepath.Join(root, path)

		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return fmt.Errorf("kubelet: %w", err)
		}

		if err := os.WriteFile(target, files[path], 0o600); err != nil {
			return fmt.Errorf("kubelet: %w", err)
		}
	}

	return nil
}

// forgetSubnet removes the file in which flannel tells its CNI plugin the pod subnet, if it is that of a Node of another name: until flannel has
// written it again, no pod must get an address of the former subnet.
func forgetSubnet(root, former, nodename string) error {
	if former == "" || former == nodename {
		return nil
	}

	if err := os.Remove(filepath.Join(root, "run/flannel/subnet.env")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("kubelet: remove the pod subnet of the Node %s: %w", former, err)
	}

	return nil
}

// prepareIdentity removes a certificate of another node or cluster, and on a control plane creates the first one.
func prepareIdentity(dir, nodename string, join secrets.KubeletSpec, issuer *secrets.KubernetesRootSpec, log *slog.Logger) error {
	if reason := kubelet.StaleIdentity(os.DirFS(dir), nodename, join); reason != "" {
		log.Info("the kubelet joins the cluster again", "reason", reason)

		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
			return fmt.Errorf("kubelet: remove its identity: %w", err)
		}
	}

	if issuer == nil || exists(filepath.Join(dir, kubelet.CurrentCert)) {
		return nil
	}

	identity, err := kubelet.NewIdentity(*issuer, nodename)
	if err != nil {
		return err
	}

	return writeIdentity(dir, kubelet.CurrentCert, identity)
}

// writeIdentity writes a certificate with its key as the kubelet does: to a file, with a link to the file in use.
func writeIdentity(dir, link string, identity []byte) error {
	file := kubelet.CertificateFile(link, time.Now())

	if err := os.WriteFile(filepath.Join(dir, file), identity, 0o600); err != nil {
		return fmt.Errorf("kubelet: %w", err)
	}

	// A dangling link would be in the way. The new link has the path that the kubelet sees.
	if err := os.Remove(filepath.Join(dir, link)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("kubelet: %w", err)
	}

	if err := os.Symlink(filepath.Join(kubelet.PKIDir, file), filepath.Join(dir, link)); err != nil {
		return fmt.Errorf("kubelet: %w", err)
	}

	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)

	return err == nil
}
