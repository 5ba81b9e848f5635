// SPDX-License-Identifier: Apache-2.0

// Package build builds everything: third-party programs from source modules, files out of Debian packages, our own
// programs, container images, and the bootable images of all these.
//
// # Use
//
// As a program:
//
//	go run ./cmd/build              everything, the disk image too
//	go run ./cmd/build kubernetes   one target and what it needs
//	go run ./cmd/build -list        the targets
//
// As a library, from a test that goes on with the results:
//
//	paths, err := build.Build(ctx, build.Options{}, artifact.TargetKernel)
//	kernel := paths.Vmlinuz()
//
// Where the results are is package artifact's matter.
//
// # How it builds
//
// The work is a graph of steps (package graph). A step's result is stored under the hash of everything that went into
// it: go.mod, go.sum, flags, the Go release, the packages asked for, the results of the steps before. What is in the
// cache is linked into place, not copied and not made again. Heavy steps run at most as many at once as there are
// processors, and one Go module is one step, so that its programs share one pass over their common packages.
//
// Each third-party program has a folder in modules/ with a go.mod of its own, whose tool lines name the upstream main
// packages. So `go mod tidy` keeps their dependencies, and neither our module nor any two of them must agree on a version.
package build
