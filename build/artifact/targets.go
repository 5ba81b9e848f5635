// SPDX-License-Identifier: Apache-2.0

package artifact

// The targets of a build: steps and groups of steps.
const (
	TargetAll       = "all"
	TargetHostTools = "host-tools"
	TargetKernel    = "kernel"
	TargetBoot      = "boot"
	TargetGRUB      = "grub"
	TargetFirmware  = "firmware"
	TargetRootfs    = "rootfs"
	TargetImages    = "images"
	// TargetConformanceImages and TargetConformanceTests are built only on demand.
	TargetConformanceImages = "conformance-images"
	TargetConformanceTests  = "e2e"

	TargetTalos = "talos"
	// TargetDebug is TargetTalos with what a debugger reads. It is built only on demand.
	TargetDebug    = "talos-debug"
	TargetInit     = "init"
	TargetModprobe = "modprobe"
	TargetSandbox  = "sandbox"
	TargetTalosctl = "talosctl"
	TargetImager   = "imager"
	TargetKubectl  = "kubectl"

	TargetRoot      = "root-image"
	TargetInitramfs = "initramfs"
	TargetUKI       = "uki"
	TargetLayers    = "image-layers"
	TargetCache     = "image-cache"
	TargetDisk      = "disk-image"
	TargetInstaller = "installer-image"
	// TargetConformanceDisk and the targets that only it needs are built only on demand.
	TargetConformanceLayers = "conformance-image-layers"
	TargetConformanceCache  = "conformance-image-cache"
	TargetConformanceDisk   = "conformance-disk-image"
)
