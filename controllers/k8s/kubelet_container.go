// SPDX-License-Identifier: Apache-2.0

//go:build linux

package k8s

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/controllers/k8s/kubelet"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/supervisor"
	"github.com/seed-59268b81/talos/sys/cgroup"
	"github.com/seed-59268b81/talos/sys/platform"
)

// kubeletContainer returns the kubelet as a privileged container: it mounts volumes, and pods must see its mounts. Roots is the version of the
// bundle of authorities.
func kubeletContainer(
	spec k8s.KubeletSpecSpec, env []string, roots string, files map[string][]byte, p platform.Platform, exists func(string) bool,
) supervisor.Service {
	mounts := kubeletMounts(spec.ExtraMounts, exists)

	// The kubelet reads and sets kernel parameters. Through a new /proc these would be the host's.
	if !p.Owns(platform.KernelParameters) {
		mounts = append([]specs.Mount{{Type: "bind", Source: "/proc", Destination: "/proc", Options: []string{"rbind", "rw"}}}, mounts...)
	}

	argv := append([]string{"/usr/local/bin/kubelet"}, spec.Args...)

	var podImages []string

	// containerd pulls the image of sandboxes by itself if it has none, and asks no one.
	if _, verified := spec.Config[kubelet.ImageServiceKey]; verified {
		podImages = []string{images.DefaultPause}
	}

	return supervisor.Service{
		ID: KubeletServiceID,
		Runner: &container.Container{
			ID: KubeletServiceID, Image: spec.Image, Argv: argv, Env: env, Mounts: mounts,
			PodImages:  podImages,
			Privileged: true, HostPID: true, RootPropagation: "shared",
			Cgroup: cgroup.Kubelet.Path, OOMScoreAdj: -450,
		},
		DependsOn:       []string{"cri"},
		Fingerprint:     kubeletFingerprint(spec.Image, argv, env, roots, mounts, files),
		Health:          &supervisor.Health{Check: kubeletHealth, InitialDelay: 200 * time.Millisecond, Timeout: 5 * time.Second, Failures: 6},
		RestartInterval: 2 * time.Second,
		Control:         supervisor.CanStart | supervisor.CanRestart,
	}
}

// kubeletMounts returns the parts of the node that the kubelet sees. /var/lib/kubelet is shared: containerd, which starts the pods outside
// of the container, must see the volumes that the kubelet mounts there.
func kubeletMounts(extra []k8s.Mount, exists func(string) bool) []specs.Mount {
	var out []specs.Mount

	for _, m := range []struct {
		source, destination string
		options             []string
		optional            bool // may be missing on a node; the others exist when the kubelet starts
	}{
		{"/dev", "/dev", []string{"rbind", "rshared", "rw"}, false},
		{"/sys/fs/cgroup", "/sys/fs/cgroup", []string{"rbind", "rslave", "rw"}, false},
		{"/lib/modules", "/lib/modules", []string{"rbind", "ro"}, true},
		{"/etc/kubernetes", "/etc/kubernetes", []string{"rbind", "rshared", "rw"}, false},
		{"/etc/cni", "/etc/cni", []string{"rbind", "rslave", "ro"}, true},
		{"/etc/machine-id", "/etc/machine-id", []string{"bind", "ro"}, true},
		{"/etc/os-release", "/etc/os-release", []string{"bind", "ro"}, true},
		{"/etc/resolv.conf", "/etc/resolv.conf", []string{"bind", "ro"}, true},
		{"/etc/hosts", "/etc/hosts", []string{"bind", "ro"}, true},
		// The bundle of authorities is bound here when a configuration has some.
		{"/etc/ssl/certs", "/etc/ssl/certs", []string{"rbind", "rslave", "ro"}, true},
		{"/etc/nfsmount.conf", "/etc/nfsmount.conf", []string{"bind", "ro"}, true},
		{layout.ResolvedDir, layout.ResolvedDir, []string{"rbind", "ro"}, true},
		{layout.RunDir, layout.RunDir, []string{"rbind", "rslave", "rw"}, false},
		{layout.RunDir, layout.VarDir + "/run", []string{"rbind", "rslave", "rw"}, false},
		{layout.ContainerdDir, layout.ContainerdDir, []string{"rbind", "rslave", "rw"}, false},
		{kubelet.Dir, kubelet.Dir, []string{"rbind", "rshared", "rw"}, false},
		{layout.ContainerLogsDir, layout.ContainerLogsDir, []string{"rbind", "rslave", "rw"}, false},
		{layout.PodLogsDir, layout.PodLogsDir, []string{"rbind", "rslave", "rw"}, false},
		{layout.VolumesDir, layout.VolumesDir, []string{"rbind", "rslave", "ro"}, true},
	} {
		if !m.optional || exists(m.source) {
			out = append(out, specs.Mount{Type: "bind", Source: m.source, Destination: m.destination, Options: m.options})
		}
	}

	for _, m := range extra {
		out = append(out, specs.Mount{
			Type: m.Type, Source: m.Source, Destination: m.Destination, Options: m.Options,
			UIDMappings: mappings(m.UIDMappings), GIDMappings: mappings(m.GIDMappings),
		})
	}

	return out
}

func mappings(in []k8s.IDMapping) []specs.LinuxIDMapping {
	var out []specs.LinuxIDMapping
	for _, m := range in {
		out = append(out, specs.LinuxIDMapping{ContainerID: m.ContainerID, HostID: m.HostID, Size: m.Size})
	}

	return out
}

// kubeletFingerprint covers everything that the kubelet reads only at its start.
func kubeletFingerprint(image string, argv, env []string, roots string, mounts []specs.Mount, files map[string][]byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %v\n", image, argv, env, roots, mounts)

	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%q %q\n", path, files[path])
	}

	return hex.EncodeToString(h.Sum(nil))
}

var kubeletHealthURL = fmt.Sprintf("http://127.0.0.1:%d/healthz", kubelet.HealthzPort)

// kubeletHealthClient uses no proxy.
var kubeletHealthClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func kubeletHealth(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, kubeletHealthURL, nil)
	if err != nil {
		return fmt.Errorf("kubelet health: %w", err)
	}

	response, err := kubeletHealthClient.Do(request)
	if err != nil {
		return fmt.Errorf("kubelet health: %w", err)
	}

	response.Body.Close() // the body is not read

	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("kubelet health: status %s", response.Status)
	}

	return nil
}
