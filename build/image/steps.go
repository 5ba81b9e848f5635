// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/graph"
	"github.com/seed-59268b81/talos/build/source"
)

// Options of the images.
type Options struct {
	// Root is the repository.
	Root string
	// ExtraArgs follow the default kernel arguments.
	ExtraArgs []string
}

// Steps returns the steps of the images. They need the steps of third-party programs and our own.
func Steps(o Options) []graph.Step {
	published := artifact.Published

	return []graph.Step{
		rootStep(o), initramfsStep(o), ukiStep(o),
		layersStep(o, artifact.TargetLayers, "file systems of the container images' layers",
			artifact.TargetImages, published.ImageLayers()),
		cacheStep(o, artifact.TargetCache, "the file system of container images", artifact.TargetImages, artifact.TargetLayers),
		diskStep(o, artifact.TargetDisk, "the disk image", artifact.TargetCache, published.Disk()),
		layersStep(o, artifact.TargetConformanceLayers, "file systems of the container images' layers, those of Kubernetes' tests too",
			artifact.TargetConformanceImages, published.ConformanceImageLayers()),
		cacheStep(o, artifact.TargetConformanceCache, "the file system of container images, those of Kubernetes' tests too",
			artifact.TargetConformanceImages, artifact.TargetConformanceLayers),
		diskStep(o, artifact.TargetConformanceDisk, "the disk image with the images of Kubernetes' tests", artifact.TargetConformanceCache,
			published.ConformanceDisk()),
	}
}

// inputs returns the inputs of an image's step: values, and the sources that build images.
func (o Options) inputs(values ...string) func(context.Context, graph.Results) ([]string, error) {
	return source.Inputs(o.Root, []string{"image", "cpio", "pe"}, values...)
}
