// SPDX-License-Identifier: Apache-2.0

// Package build builds everything: third-party programs from source modules, files of Debian packages, our own
// programs, container images, and bootable images of all these.
//
// # Use
//
// As a program:
//
//	go run ./cmd/build              everything, including the disk image
//	go run ./cmd/build kubernetes   one target and what it needs
//	go run ./cmd/build -list        the targets
//
// As a library, for example in a test that uses the results:
//
//	paths, err := build.Build(ctx, build.Options{}, artifact.TargetKernel)
//	kernel := paths.Vmlinuz()
//
// Package artifact has the paths of the results.
//
// # How it builds
//
// The build is a graph of steps (package graph). A step's result is cached under the hash of all its inputs: go.mod,
// go.sum, flags, the Go release, the packages, the results of earlier steps. A cached result is linked into place, not
// copied. At most as many heavy steps run at once as there are processors. One Go module is one step, so that its
// programs share the compilation of common packages.
//
// Each third-party program has a folder in modules/ with its own go.mod, whose tool lines name the upstream main
// packages. So `go mod tidy` keeps their dependencies, and modules can use different versions of a dependency.
package build
