// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/durable"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/cri"
)

const (
	seccompFilesName = "cri.SeccompProfileFileController"
	seccompRequester = "seccomp-profiles"
)

// SeccompProfileFileController writes the profiles to the folder in which the kubelet finds them, on EPHEMERAL. The folder has no other
// files. A pod names a profile as profiles/NAME.
func SeccompProfileFileController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: seccompFilesName,
		Reads:          append(volume.Inputs(), controller.In[cri.SeccompProfileSpec](controller.Weak, "")),
		Writes:         []controller.Output{volume.Output()},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			specs, err := typed.List[cri.SeccompProfileSpec](ctx, rt, "")
			if err != nil {
				return err
			}

			mounted, err := volume.Request(ctx, rt, seccompFilesName, seccompRequester, block.VolumeEphemeral, func(context.Context) error { return nil })
			if err != nil || mounted == "" {
				return err
			}

			wanted := map[string][]byte{}

			for _, r := range specs {
				if r.Metadata().Phase() != resource.PhaseRunning {
					continue
				}

				text, err := json.MarshalIndent(r.TypedSpec().Value, "", "  ")
				if err != nil {
					return fmt.Errorf("seccomp profile %s: %w", r.Metadata().ID(), err)
				}

				wanted[r.TypedSpec().Name] = text
			}

			return writeProfiles(filepath.Join(mounted, strings.TrimPrefix(layout.SeccompProfilesDir, layout.VarDir)), wanted)
		},
	}
}

// writeProfiles makes the files of a folder the wanted ones.
func writeProfiles(dir string, wanted map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("seccomp profiles: %w", err)
	}

	var errs []error

	for name, text := range wanted {
		path := filepath.Join(dir, name)

		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
			continue
		}

		errs = append(errs, durable.Write(path, text, 0o600))
	}

	entries, err := os.ReadDir(dir)
	errs = append(errs, err)

	for _, e := range entries {
		if _, ok := wanted[e.Name()]; !ok && e.Type().IsRegular() {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}

	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("seccomp profiles: %w", err)
	}

	return nil
}
