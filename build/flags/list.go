// SPDX-License-Identifier: Apache-2.0

// Package flags makes the list of all flags and feature gates of Kubernetes' programs and etcd, from their own flag sets, and
// that of the fields of the objects that a machine configuration carries for them, from their own types.
//
// A machine checks command lines and objects before it accepts a configuration. The code itself cannot be linked into its
// program, which would be four times as large. So two small programs (folder programs) are compiled in the modules that the
// real ones are built from, and what they print is checked in as controllers/k8s/flags/flags.txt and
// controllers/k8s/schemas/types.txt. A test holds that both are current. The same program says which static pods the kubelet takes.
package flags

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/config/images"
)

// Programs are those of Kubernetes that are listed.
var Programs = []string{"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet"}

// List returns the list of flags; root is the repository's folder, work one for programs that are built. Lines are PROGRAM FLAG TYPE; those of feature gates PROGRAM NAME gate, or
// gate=VALUE for a gate that cannot be changed. The first line of a program is its version. Kubernetes' gates are listed once,
// under the name kubernetes: its programs share one set.
func List(ctx context.Context, root, work string) ([]byte, error) {
	var lines []string

	etcd, err := run(ctx, root, work, "etcd", nil)
	if err != nil {
		return nil, err
	}

	lines = append(append(lines, "etcd version "+images.EtcdVersion), etcd...)

	for _, program := range Programs {
		all, err := run(ctx, root, work, "kubernetes", []string{program})
		if err != nil {
			return nil, err
		}

		lines = append(lines, program+" version "+images.KubernetesVersion)

		for _, line := range all {
			name, isGate := strings.CutPrefix(line, program+" ")

			switch {
			case !isGate || !strings.Contains(line, " gate"):
				lines = append(lines, line)
			case !slices.Contains(lines, "kubernetes "+name):
				lines = append(lines, "kubernetes "+name)
			}
		}
	}

	slices.Sort(lines)

	return []byte(strings.Join(lines, "\n") + "\n"), nil
}

// Types returns the list of fields: KIND PATH TYPE.
func Types(ctx context.Context, root, work string) ([]byte, error) {
	lines, err := run(ctx, root, work, "kubernetes", []string{"types"})
	if err != nil {
		return nil, err
	}

	return []byte(strings.Join(lines, "\n") + "\n"), nil
}

// TakenPods returns which of the static pods in a folder the kubelet takes: the values of their annotation "case".
func TakenPods(ctx context.Context, root, work, dir string) ([]string, error) {
	return run(ctx, root, work, "kubernetes", []string{"pods", dir})
}

// sources are the files of each program.
var sources = map[string][]string{"etcd": {"etcd.go"}, "kubernetes": {"kubernetes.go", "pods.go", "types.go"}}

// run compiles the program NAME in the module build/modules/NAME, and returns the lines that it prints.
func run(ctx context.Context, root, work, name string, args []string) ([]string, error) {
	program := filepath.Join(work, name)

	if _, err := os.Stat(program); err != nil {
		// The flags of the build of the real programs, so that what is compiled already is not compiled again.
		args := []string{"build", "-trimpath", "-buildvcs=false", "-tags", "selinux,notest,grpcnotrace", "-o", program}
		for _, file := range sources[name] {
			args = append(args, filepath.Join("..", "..", "flags", "programs", file))
		}

		build := exec.CommandContext(ctx, "go", args...)
		build.Dir = filepath.Join(root, "build", "modules", name)
		build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0")

		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s.go: %w: %s", name, err, out)
		}
	}

	var stderr bytes.Buffer

	//program:built above
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = &stderr

	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, stderr.Bytes())
	}

	return strings.Split(strings.TrimSpace(string(out)), "\n"), nil
}
