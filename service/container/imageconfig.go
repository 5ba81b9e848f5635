// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"fmt"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/oci"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// defaultPath is the environment of an image that has none.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// withImageConfig takes the command line, the environment and the working directory from the image. Package oci has such an option too. That
// one links text/template, which calls methods by name: then the linker keeps every exported method of the program, which is megabytes.
func withImageConfig(image containerd.Image) oci.SpecOpts {
	return func(ctx context.Context, _ oci.Client, _ *containers.Container, s *oci.Spec) error {
		config, err := image.Spec(ctx)
		if err != nil {
			return fmt.Errorf("configuration of image %s: %w", image.Name(), err)
		}

		imageProcess(s, config.Config)

		return nil
	}
}

// imageProcess begins the process with what the image says. Options that follow change it.
func imageProcess(s *oci.Spec, config ocispec.ImageConfig) {
	s.Process.Args = append(append([]string{}, config.Entrypoint...), config.Cmd...)
	s.Process.Env = append([]string{}, config.Env...)
	s.Process.Cwd = config.WorkingDir

	if len(s.Process.Env) == 0 {
		s.Process.Env = []string{defaultPath}
	}

	if s.Process.Cwd == "" {
		s.Process.Cwd = "/"
	}
}
