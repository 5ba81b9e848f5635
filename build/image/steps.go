// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/debian"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/source"
)

// Options of the images.
type Options struct {
	// Root is the repository.
	Root string
	// ExtraArgs follow the default kernel arguments.
	ExtraArgs []string
	// Version is that of the system.
	Version string
	// Drivers are patterns of the files of modules in the root image, besides those that every image has: kernel/drivers/ata/*.ko.
	Drivers []string
	// Debian returns the packages of Debian in the images; nil is none.
	Debian func(ctx context.Context) ([]debian.Package, error)
}

// software returns the packages of Debian in the images.
func (o Options) software(ctx context.Context) ([]debian.Package, error) {
	if o.Debian == nil {
		return nil, nil
	}

	return o.Debian(ctx)
}

// Steps returns the steps of the images. They need the steps of third-party programs and our own.
func Steps(o Options) []graph.Step {
	paths := artifact.Published

	return []graph.Step{
		rootStep(o), initramfsStep(o), ukiStep(o),
		layersStep(o, artifact.TargetLayers, "file systems of the container images' layers",
			artifact.TargetImages, paths.ImageLayers()),
		published(cacheStep(o, artifact.TargetCache, "the file system of container images", artifact.TargetImages, artifact.TargetLayers),
			cacheName, paths.ImageCache()),
		diskStep(o, artifact.TargetDisk, "the disk image", artifact.TargetCache, paths.Disk()),
		installerStep(o),
		layersStep(o, artifact.TargetConformanceLayers, "file systems of the container images' layers, those of Kubernetes' tests too",
			artifact.TargetConformanceImages, paths.ConformanceImageLayers()),
		cacheStep(o, artifact.TargetConformanceCache, "the file system of container images, those of Kubernetes' tests too",
			artifact.TargetConformanceImages, artifact.TargetConformanceLayers),
		diskStep(o, artifact.TargetConformanceDisk, "the disk image with the images of Kubernetes' tests", artifact.TargetConformanceCache,
			paths.ConformanceDisk()),
	}
}

// published is a step with a file that is shown in the output folder.
func published(s graph.Step, file, path string) graph.Step {
	s.Publish = map[string]string{file: path}

	return s
}

// inputs returns the inputs of an image's step: values, and the sources that build images.
func (o Options) inputs(values ...string) func(context.Context, graph.Results) ([]string, error) {
	return source.Inputs(o.Root, []string{"image", "cpio", "pe"}, values...)
}

// installSources are the folders of what writes a disk and a release, outside the build.
var installSources = []string{"install", "install/loader", "install/release", "layout", "sys/fat", "sys/gpt", "sys/meta"}

// installInputs returns the inputs of the step of a disk image or a release, which are also the sources that install the system.
func (o Options) installInputs(values ...string) func(context.Context, graph.Results) ([]string, error) {
	return func(ctx context.Context, r graph.Results) ([]string, error) {
		out, err := source.Inputs(o.Root, []string{"image", "cpio", "pe", "ociimage"}, values...)(ctx, r)

		for _, folder := range installSources {
			if err != nil {
				return nil, err
			}

			var hash string

			hash, err = o.hashFolder(folder)
			out = append(out, hash)
		}

		return out, err
	}
}

// hashFolder returns the hash of the sources in a folder of the repository.
func (o Options) hashFolder(folder string) (string, error) {
	return source.Hash(filepath.Join(o.Root, folder), func(rel string) bool {
		return filepath.Dir(rel) == "." && strings.HasSuffix(rel, ".go") && !strings.HasSuffix(rel, "_test.go")
	})
}
