// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/files"
)

// trustedRootsController adds the authorities of the configuration to the bundle that all programs read. Until a configuration has some, the
// bundle of the image is used, and later the same text is written without them.
func trustedRootsController(bundle string) controller.Controller {
	r := &trustedRoots{path: bundle}

	return fromconfig.Controller("secrets.TrustedRootsController", files.CABundle, controller.Shared, func(cfg *view.Config) (*files.EtcFileSpecSpec, error) {
		return r.file(cfg.TrustedRoots())
	})
}

type trustedRoots struct {
	path string
	// image is the bundle of the image. It stays readable after another file is bound over it.
	image *os.File
}

func (r *trustedRoots) file(roots string) (*files.EtcFileSpecSpec, error) {
	if roots == "" && r.image == nil {
		return nil, nil
	}

	if r.image == nil {
		// This process reads the bundle once. It must be that of the image: it would trust the others until the next boot.
		if _, err := x509.SystemCertPool(); err != nil {
			return nil, fmt.Errorf("read the authorities of the image: %w", err)
		}

		image, err := os.Open(r.path)
		if err != nil {
			return nil, fmt.Errorf("read the authorities of the image: %w", err)
		}

		r.image = image
	}

	info, err := r.image.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the authorities of the image: %w", err)
	}

	text := make([]byte, info.Size())
	if _, err := r.image.ReadAt(text, 0); err != nil && info.Size() > 0 {
		return nil, fmt.Errorf("read the authorities of the image: %w", err)
	}

	if roots != "" {
		text = append(append(bytes.TrimRight(text, "\n"), '\n'), roots...)
	}

	return &files.EtcFileSpecSpec{Contents: string(text), Mode: 0o644}, nil
}
