// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/controllers/volume"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/runtime"
)

const machineFileName = "files.MachineFileController"

// MachineFileController writes the files of machine.files that are below /var, when EPHEMERAL is mounted. They stay there when the
// configuration no longer has them.
func MachineFileController() controller.Controller {
	return &controller.Reconciler{
		ControllerName: machineFileName,
		Reads:          append(volume.Inputs(), fromconfig.Input()),
		Writes:         []controller.Output{volume.Output(), controller.Out[runtime.SettingConditionSpec](controller.Shared)},
		Cleanup: []resource.Kind{
			resource.KindOf[block.VolumeMountRequestSpec](""), resource.KindOf[runtime.SettingConditionSpec](""),
		},
		Reconcile: func(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
			cfg, err := fromconfig.View(ctx, rt)
			if err != nil {
				return err
			}

			wanted := varFiles(cfg)
			if len(wanted) == 0 {
				return volume.Release(ctx, rt, machineFileName, requester, block.VolumeEphemeral)
			}

			mounted, err := volume.Request(ctx, rt, machineFileName, requester, block.VolumeEphemeral, func(context.Context) error { return nil })
			if err != nil || mounted == "" {
				return err
			}

			return writeVarFiles(ctx, rt, mounted, wanted)
		},
	}
}

const requester = "machine-files"

// varFiles are the files below /var, with paths below it.
func varFiles(cfg *view.Config) []view.MachineFile {
	var wanted []view.MachineFile

	for _, f := range cfg.MachineFiles() {
		if name, inside := strings.CutPrefix(path.Clean(f.Path), layout.VarDir+"/"); inside {
			f.Path = name
			wanted = append(wanted, f)
		}
	}

	return wanted
}

func writeVarFiles(ctx context.Context, rt controller.Runtime, dir string, wanted []view.MachineFile) error {
	root, err := os.OpenRoot(dir) // a symbolic link does not lead out of it
	if err != nil {
		return err
	}
	defer root.Close()

	for _, f := range wanted {
		if err := writeVarFile(root, f); err != nil {
			condition := runtime.SettingConditionSpec{Cause: err.Error()}
			if err := typed.Set(ctx, rt, "", "file/"+layout.VarDir+"/"+f.Path, condition); err != nil {
				return err
			}
		}
	}

	return nil
}

// writeVarFile writes a file that may be there from an earlier boot: then create writes it again, and append leaves it as it is.
func writeVarFile(root *os.Root, f view.MachineFile) error {
	text, err := root.ReadFile(f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	exists := err == nil

	after, err := operate(f, original{string(text), exists && f.Op != opCreate})
	if err != nil {
		return err
	}

	if f.Op != opCreate && f.Op != opOverwrite && strings.HasSuffix(string(text), f.Content) {
		after = string(text)
	}

	if err := root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
		return err
	}

	if !exists || string(text) != after {
		if err := root.WriteFile(f.Path, []byte(after), fs.FileMode(f.Permissions)); err != nil {
			return fmt.Errorf("write %s/%s: %w", layout.VarDir, f.Path, err)
		}
	}

	return root.Chmod(f.Path, fs.FileMode(f.Permissions))
}
