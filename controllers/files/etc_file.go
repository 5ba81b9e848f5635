// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package files holds the controllers of the files in /etc that change while the machine runs.
package files

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/seed-59268b81/talos/cosi/controller"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/state"
	"github.com/seed-59268b81/talos/cosi/transform"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/files"
)

// Controllers of this domain.
func Controllers() []controller.Controller {
	return []controller.Controller{
		EtcFileController(RealEtc(), layout.EtcDir),
		EtcFileConfigController(os.DirFS("/etc")),
		MachineFileController(),
	}
}

// EtcFileController writes the files of EtcFileSpecs. The root is read-only, so each file is written to a folder in memory and
// bind-mounted over its path in /etc. Later changes are written in place, because the mount is of the file and not of its name.
//
// A file of the configuration goes with its spec: what the image has there appears again. One that the system writes itself stays as it
// is until the next boot: an empty /etc/hosts would help no one.
func EtcFileController(etc Folder, shadow string) controller.Controller {
	c := &etcFiles{etc: etc, shadow: shadow, bound: map[string]bool{}, created: map[string]bool{}}

	return transform.Map[files.EtcFileSpecSpec, files.EtcFileStatusSpec]{
		Name: "files.EtcFileController",
		Hold: true,
		Transform: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[files.EtcFileSpecSpec], out *files.EtcFileStatusSpec) error {
			out.SpecVersion = in.Metadata().VersionString()

			return c.write(in.Metadata().ID(), in.TypedSpec())
		},
		Release: func(_ context.Context, _ state.Reader, _ *slog.Logger, in *resource.Typed[files.EtcFileSpecSpec]) error {
			if in.Metadata().Owner() != etcFileConfigName {
				return nil
			}

			return c.undo(in.Metadata().ID())
		},
	}.Controller()
}

// elsewhere are the files outside /etc. They are written directly, without a bind mount.
var elsewhere = map[string]string{files.PodResolvConf: files.PodResolvConfPath}

type etcFiles struct {
	etc    Folder
	shadow string
	// bound are the files that are mounted, and created those of them that the image does not have.
	bound, created map[string]bool
}

func (c *etcFiles) write(name string, spec *files.EtcFileSpecSpec) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("write /etc/%s: the path is outside /etc", name)
	}

	source := filepath.Join(c.shadow, name)

	path, isElsewhere := elsewhere[name]
	if isElsewhere {
		source = path
	}

	err := os.MkdirAll(filepath.Dir(source), 0o755)
	if err == nil {
		err = writeInPlace(source, []byte(spec.Contents), cmp.Or(spec.Mode.Perm(), 0o644))
	}

	if err == nil && !isElsewhere && !c.bound[name] {
		err = c.bind(source, name)
	}

	if err != nil {
		return fmt.Errorf("write /etc/%s: %w", name, err)
	}

	return nil
}

func (c *etcFiles) bind(source, name string) error {
	created, err := c.etc.Create(name)
	if err != nil {
		return err
	}

	c.created[name] = c.created[name] || created
	err = c.etc.Bind(source, name)
	c.bound[name] = err == nil

	return err
}

// undo removes a file. What the image has there appears again.
func (c *etcFiles) undo(name string) error {
	if c.bound[name] {
		if err := c.etc.Unbind(name); err != nil {
			return fmt.Errorf("remove /etc/%s: %w", name, err)
		}

		delete(c.bound, name)
	}

	if c.created[name] {
		if err := c.etc.Remove(name); err != nil {
			return fmt.Errorf("remove /etc/%s: %w", name, err)
		}

		delete(c.created, name)
	}

	if err := os.Remove(filepath.Join(c.shadow, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove /etc/%s: %w", name, err)
	}

	return nil
}

// writeInPlace replaces a file's content with one write, so that no reader sees it empty, and then sets its length.
func writeInPlace(path string, content []byte, mode fs.FileMode) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return os.Chmod(path, mode)
	}

	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, mode)
	if err != nil {
		return err
	}

	_, err = f.WriteAt(content, 0)

	return errors.Join(err, f.Truncate(int64(len(content))), f.Chmod(mode), f.Close())
}
