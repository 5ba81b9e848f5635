// SPDX-License-Identifier: Apache-2.0

package k8s

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/seed-59268b81/talos/controllers/frominputs"
	"github.com/seed-59268b81/talos/controllers/k8s/manifests"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/sys/outbound"
)

// Limits of one download.
const (
	downloadTimeout = time.Minute
	downloadMax     = 16 << 20
)

// extraManifestController renders the manifests that the machine configuration contains or names by URL. One that fails is tried again, and
// does not block the others. A manifest is downloaded once, as long as the configuration names it.
func extraManifestController() controller.Controller {
	var (
		settings k8s.ExtraManifestsConfigSpec
		net      network.StatusSpec
	)

	downloaded := map[string]manifests.Manifest{}

	return frominputs.Controller[k8s.ManifestSpec]("k8s.ExtraManifestController", controller.Shared, frominputs.List{
		frominputs.Of(k8s.ExtraManifestsID, &settings).OrKeep(),
		frominputs.Of(network.StatusID, &net).OrKeep(),
	}, func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
		if !net.AddressReady {
			return controller.ErrSkip
		}

		var errs []error

		kept := map[string]manifests.Manifest{}

		for _, extra := range settings.ExtraManifests {
			key := fmt.Sprintf("%q %q %q %q", extra.Name, extra.Priority, extra.URL, extra.ExtraHeaders)

			manifest, there := downloaded[key]
			if !there {
				var err error

				if manifest, err = renderExtra(ctx, extra); err != nil {
					errs = append(errs, err)

					continue
				}
			}

			if extra.URL != "" {
				kept[key] = manifest
			}

			errs = append(errs, setManifest(ctx, rt, manifest))
		}

		downloaded = kept

		return errors.Join(errs...)
	})
}

func renderExtra(ctx context.Context, extra k8s.ExtraManifest) (manifests.Manifest, error) {
	text := []byte(extra.InlineManifest)

	if extra.URL != "" {
		var err error

		if text, err = download(ctx, extra.URL, extra.ExtraHeaders); err != nil {
			return manifests.Manifest{}, fmt.Errorf("manifest %s: %w", extra.Name, err)
		}
	}

	return manifests.Extra(extra, text)
}

func download(ctx context.Context, address string, headers map[string]string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("download: the address is not a URL")
	}

	for name, value := range headers {
		request.Header.Set(name, value)
	}

	client, err := outbound.Client(layout.CABundle)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	defer client.CloseIdleConnections()

	response, err := client.Do(request)
	if failure := (*url.Error)(nil); errors.As(err, &failure) {
		err = failure.Err // the cause without the address, which may be secret
	}

	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	defer response.Body.Close()

	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("download: status %s", response.Status)
	}

	text, err := io.ReadAll(io.LimitReader(response.Body, downloadMax+1))
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}

	if len(text) > downloadMax {
		return nil, fmt.Errorf("download: more than %d MiB", downloadMax>>20)
	}

	return text, nil
}
