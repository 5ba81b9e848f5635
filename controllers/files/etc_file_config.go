// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"

	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/fromconfig"
	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/files"
	"github.com/seed-59268b81/talos/resources/runtime"
)

const etcFileConfigName = "files.EtcFileConfigController"

// EtcFileConfigController has the files in /etc of EtcFileConfig documents and of machine.files. image is /etc before any file was
// replaced. A file that cannot be written has a SettingCondition, and does not stop the others.
func EtcFileConfigController(image fs.FS) controller.Controller {
	c := &etcFileConfigs{image: image, originals: map[string]original{}}

	return &controller.Reconciler{
		ControllerName: etcFileConfigName,
		Reads:          []controller.Input{fromconfig.Input()},
		Writes: []controller.Output{
			controller.Out[files.EtcFileSpecSpec](controller.Shared), controller.Out[runtime.SettingConditionSpec](controller.Shared),
		},
		Cleanup:   []resource.Kind{resource.KindOf[files.EtcFileSpecSpec](""), resource.KindOf[runtime.SettingConditionSpec]("")},
		Reconcile: c.reconcile,
	}
}

type etcFileConfigs struct {
	image fs.FS
	// originals are the files of the image that machine.files changes, as they were at first.
	originals map[string]original
}

type original struct {
	text   string
	exists bool
}

func (c *etcFileConfigs) reconcile(ctx context.Context, rt controller.Runtime, _ *slog.Logger) error {
	cfg, err := fromconfig.View(ctx, rt)
	if err != nil {
		return err
	}

	specs, failures := c.files(cfg)

	for name, err := range failures {
		if err := typed.Set(ctx, rt, "", "etc-file/"+name, runtime.SettingConditionSpec{Cause: err.Error()}); err != nil {
			return err
		}
	}

	for name, spec := range specs {
		// One that is being torn down is written when it is destroyed: the runtime wakes the controller then.
		if err := typed.Set(ctx, rt, "", name, spec); err != nil && !state.IsPhaseConflict(err) {
			return err
		}
	}

	return nil
}

// files returns the wanted files, and why others cannot be written.
func (c *etcFileConfigs) files(cfg *view.Config) (map[string]files.EtcFileSpecSpec, map[string]error) {
	specs, failures := map[string]files.EtcFileSpecSpec{}, map[string]error{}

	add := func(name string, text string, mode view.FileMode, err error) {
		switch {
		case err == nil && isManaged(name):
			failures[name] = errors.New("the system writes this file itself")
		case err != nil:
			failures[name] = err
		default:
			specs[name] = files.EtcFileSpecSpec{Contents: text, Mode: fs.FileMode(mode)}
		}
	}

	for _, f := range cfg.MachineFiles() {
		name, inside := strings.CutPrefix(path.Clean(f.Path), "/etc/")
		if !inside || f.Path == layout.CRICustomization {
			continue
		}

		text, err := c.apply(f, name, specs)
		add(name, text, f.Permissions, err)
	}

	for _, f := range cfg.EtcFiles() { // a document wins
		_, err := c.original(f.Name) // before it is replaced: a later configuration may append to it
		add(f.Name, f.Contents, f.Mode, err)
	}

	return specs, failures
}

// apply returns the text of a file of machine.files. Several entries may change the same file, one after the other.
func (c *etcFileConfigs) apply(f view.MachineFile, name string, specs map[string]files.EtcFileSpecSpec) (string, error) {
	before, err := c.original(name)
	if err != nil {
		return "", err
	}

	if spec, ok := specs[name]; ok {
		before = original{spec.Contents, true}
	}

	return operate(f, before)
}

// operate returns the text of a file after an operation.
func operate(f view.MachineFile, before original) (string, error) {
	switch {
	case f.Op == opCreate && before.exists:
		return "", fmt.Errorf("create %s: it exists: use the operation overwrite or append", f.Path)
	case f.Op == opCreate:
		return f.Content, nil
	case !before.exists:
		return "", fmt.Errorf("%s %s: there is no such file: use the operation create", f.Op, f.Path)
	case f.Op == opOverwrite:
		return f.Content, nil
	default:
		return strings.TrimSuffix(before.text, "\n") + "\n" + f.Content, nil
	}
}

// Operations of machine.files. The third is append.
const (
	opCreate    = "create"
	opOverwrite = "overwrite"
)

func (c *etcFileConfigs) original(name string) (original, error) {
	if o, known := c.originals[name]; known {
		return o, nil
	}

	text, err := fs.ReadFile(c.image, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return original{}, err
	}

	c.originals[name] = original{string(text), err == nil}

	return c.originals[name], nil
}

func isManaged(name string) bool {
	for _, managed := range layout.ManagedEtc {
		if name == managed || strings.HasPrefix(name, managed+"/") {
			return true
		}
	}

	return false
}
