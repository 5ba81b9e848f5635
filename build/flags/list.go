// SPDX-License-Identifier: Apache-2.0

// Package flags lists all flags and feature gates of Kubernetes' programs and etcd, from their flag sets, and the fields of the
// objects for them in a machine configuration, from their Go types.
//
// A machine checks command lines and objects before it accepts a configuration. It cannot link the original code, which would
// make its program four times as large. So two small programs (folder programs) are compiled in the modules of the real
// programs. Their output is checked in as controllers/k8s/flags/flags.txt and controllers/k8s/schemas/types.txt; a test checks
// that both are current. One of these programs also lists the static pods that the kubelet accepts.
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

// Programs are Kubernetes' programs whose flags are listed.
var Programs = []string{"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet"}

// List returns the list of flags. root is the repository's folder; List builds programs in the folder work. A line is PROGRAM
// FLAG TYPE, or PROGRAM NAME gate for a feature gate, or gate=VALUE for a gate that cannot be changed. PROGRAM version VERSION
// is the version. Kubernetes' programs share one set of gates, which is listed once under the name kubernetes.
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

// TakenPods returns the static pods in a folder that the kubelet accepts, by the values of their annotation "case".
func TakenPods(ctx context.Context, root, work, dir string) ([]string, error) {
	return run(ctx, root, work, "kubernetes", []string{"pods", dir})
}

// sources are the source files of each program.
var sources = map[string][]string{"etcd": {"etcd.go"}, "kubernetes": {"kubernetes.go", "pods.go", "types.go"}}

// run compiles the program NAME in the module build/modules/NAME, and returns the lines of its output.
func run(ctx context.Context, root, work, name string, args []string) ([]string, error) {
	program := filepath.Join(work, name)

	if _, err := os.Stat(program); err != nil {
		// The flags are those of the real programs, so that compiled packages are reused.
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
