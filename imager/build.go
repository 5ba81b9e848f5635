// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/seed-59268b81/talos/components"
	"github.com/seed-59268b81/talos/components/graph"
	"github.com/seed-59268b81/talos/version"
)

// Targets that Build takes.
const (
	TargetRoot      = "root-image"
	TargetInitramfs = "initramfs"
	TargetUKI       = "uki"
	TargetLayers    = "image-layers"
	TargetCache     = "image-cache"
	TargetDisk      = "disk-image"
	// TargetConformanceDisk is built only on demand.
	TargetConformanceLayers = "conformance-image-layers"
	TargetConformanceCache  = "conformance-image-cache"
	TargetConformanceDisk   = "conformance-disk-image"
)

// Options of the images.
type Options struct {
	// Version in the name of the unified kernel image.
	Version string
	// ExtraArgs follow the default kernel arguments.
	ExtraArgs []string
}

// tag is the version that the images have.
func (o Options) tag() string { return cmp.Or(o.Version, version.Tag) }

// Paths locates the images under the output folder of components.Paths.
type Paths struct {
	components.Paths
	version string
}

func (p Paths) image(name string) string { return filepath.Join(p.Out, "images", name) }

// Root is the root file system.
func (p Paths) Root() string { return p.image("rootfs.sqsh") }

// Initramfs is what the kernel starts from.
func (p Paths) Initramfs() string { return p.image("initramfs.img") }

// Kernel is the kernel beside it.
func (p Paths) Kernel() string { return p.image("vmlinuz") }

// UKI is the unified kernel image, which a UEFI firmware starts.
func (p Paths) UKI() string { return p.image(ukiName(cmp.Or(p.version, version.Tag))) }

// Disk is the disk image.
func (p Paths) Disk() string { return p.image(diskName) }

// ConformanceDisk is the disk image whose cache has the images of Kubernetes' end-to-end tests as well.
func (p Paths) ConformanceDisk() string { return p.image(conformanceDiskName) }

const (
	diskName            = "metal-amd64.raw"
	conformanceDiskName = "metal-amd64-conformance.raw"
)

func ukiName(tag string) string { return fmt.Sprintf("Talos-%s.efi", tag) }

// AddSteps adds the steps of the images to the graph of the components.
func AddSteps(g *graph.Graph, o Options) {
	o.Version = o.tag()

	for _, s := range []graph.Step{
		rootStep(o), initramfsStep(), ukiStep(o),
		layersStep(TargetLayers, "file systems of the container images' layers", components.TargetImages),
		cacheStep(TargetCache, "the file system of container images", components.TargetImages, TargetLayers),
		diskStep(o, TargetDisk, "the disk image", TargetCache, diskName),
		layersStep(TargetConformanceLayers, "file systems of the container images' layers, those of Kubernetes' tests too",
			components.TargetConformanceImages),
		cacheStep(TargetConformanceCache, "the file system of container images, those of Kubernetes' tests too",
			components.TargetConformanceImages, TargetConformanceLayers),
		diskStep(o, TargetConformanceDisk, "the disk image with the images of Kubernetes' tests", TargetConformanceCache,
			conformanceDiskName),
	} {
		g.Add(s)
	}
}

// Build brings the named images, or the disk if none is named, up to date, with everything they are made of.
func Build(ctx context.Context, c components.Options, o Options, targets ...string) (Paths, error) {
	if len(targets) == 0 {
		targets = []string{TargetDisk}
	}

	c.Extend = func(g *graph.Graph) { AddSteps(g, o) }

	if _, err := components.Build(ctx, c, targets...); err != nil {
		return Paths{}, err
	}

	return Locate(c, o)
}
