// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"path/filepath"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/ociimage"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/install/release"
	"github.com/seed-59268b81/talos/version"
)

// installerStep creates the release: the image with what a machine installs.
func installerStep(o Options) graph.Step {
	published := artifact.Published.Installer()
	name := filepath.Base(published)

	return graph.Step{
		Name:   artifact.TargetInstaller,
		About:  "the installer's image",
		Needs:  []string{artifact.TargetUKI, artifact.TargetInitramfs, artifact.TargetBoot},
		Inputs: o.installInputs(version.Tag, o.Cmdline()),
		Run: func(_ context.Context, w *graph.Work) error {
			boot := w.Needs[artifact.TargetInitramfs].Dir

			return makeInstaller(w.Dir, name, o.Cmdline(), map[string]string{
				release.UKI:       filepath.Join(w.Needs[artifact.TargetUKI].Dir, ukiName),
				release.Loader:    filepath.Join(w.Needs[artifact.TargetBoot].Dir, artifact.SystemdBoot),
				release.Kernel:    filepath.Join(boot, "vmlinuz"),
				release.Initramfs: filepath.Join(boot, "initramfs.img"),
			})
		},
		Publish: map[string]string{name: published},
	}
}

// makeInstaller writes the layout dir/name.
func makeInstaller(dir, name, cmdline string, files map[string]string) error {
	tmp, remove, err := scratch(dir)
	if err != nil {
		return err
	}
	defer remove()

	layers, err := release.Trees(tmp, release.Manifest{Version: version.Tag, Arch: "amd64", Cmdline: cmdline}, files)
	if err != nil {
		return err
	}

	return ociimage.Write(filepath.Join(dir, name), ociimage.Image{
		Reference: generate.InstallerRepository + ":" + version.Tag,
		Layers:    []ociimage.Tree{ociimage.Tree(layers[0]), ociimage.Tree(layers[1])},
	})
}
