// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/seed-59268b81/talos/controllers/cri/imagecache"
	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/sys/supervisor"
)

// RegistrydID is the service of the image cache; the name users know.
const RegistrydID = "registryd"

// ImageCacheController serves the image cache once its volume is mounted. A machine without that volume has no such
// service, and pulls from registries.
func ImageCacheController(sup *supervisor.Supervisor) controller.Controller {
	const name = "cri.ImageCacheController"

	return &controller.Reconciler{
		ControllerName: name,
		Reads:          volume.Inputs(),
		Writes:         []controller.Output{volume.Output()},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			mounted, err := volume.Request(ctx, rt, name, RegistrydID, block.VolumeImageCache, func(ctx context.Context) error {
				return sup.Remove(ctx, RegistrydID)
			})
			if err != nil || mounted == "" {
				return err
			}

			err = sup.Apply(supervisor.Service{
				ID:          RegistrydID,
				Fingerprint: mounted,
				Runner:      serve(imagecache.New(mounted)),
				Health:      &supervisor.Health{Check: checkRegistry, InitialDelay: 10 * time.Millisecond},
			})
			if errors.Is(err, supervisor.ErrClosed) {
				return nil
			}

			return err
		},
	}
}

func serve(handler http.Handler) supervisor.Func {
	return func(ctx context.Context, run supervisor.Run) error {
		var listen net.ListenConfig

		l, err := listen.Listen(ctx, "tcp", imagecache.Address)
		if err != nil {
			return err
		}

		srv := &http.Server{
			Handler: handler, ReadHeaderTimeout: 10 * time.Second,
			ErrorLog: slog.NewLogLogger(slog.NewTextHandler(run.Log, nil), slog.LevelWarn),
		}
		stop := context.AfterFunc(ctx, func() { srv.Close() }) //nolint:errcheck

		defer stop()

		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}

		return nil
	}
}

func checkRegistry(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+imagecache.Address+"/v2/", nil)
	if err != nil {
		return err
	}

	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}

	return resp.Body.Close()
}
