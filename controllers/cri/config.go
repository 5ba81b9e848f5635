// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/cri/imagecache"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/service/container"
)

// Paths of containerd.
const (
	ConfigPath = layout.ContainerdConfig
	rootDir    = layout.ContainerdDir
	stateDir   = layout.ContainerdRunDir
	cniConfDir = "/etc/cni/net.d"
	cniBinDir  = "/opt/cni/bin"
	// layersDir has the layers of the image cache as file system images.
	layersDir = layout.ImageCacheDir + "/" + images.LayersDir
)

// erofsPlugin keeps its snapshots in a folder of this name in rootDir.
const erofsPlugin = "io.containerd.snapshotter.v1.erofs"

type table = map[string]any

// renderConfig returns containerd's configuration. It does not name the registries: containerd reads the hosts folder at
// each pull, so a change of mirrors needs no restart.
func renderConfig(at place) ([]byte, error) {
	runtime := table{
		"cni": table{"bin_dirs": []string{cniBinDir}, "conf_dir": cniConfDir},
		"containerd": table{
			"default_runtime_name": "runc",
			"runtimes": table{"runc": table{
				"runtime_type": "io.containerd.runc.v2",
				"options":      table{"SystemdCgroup": false},
			}},
		},
		"enable_unprivileged_ports": true,
		"enable_unprivileged_icmp":  true,
	}

	images := table{
		"discard_unpacked_layers": true,
		"pinned_images":           table{"sandbox": images.DefaultPause},
		"registry":                table{"config_path": container.HostsDir},
	}

	if at.keepOOMScores {
		runtime["restrict_oom_score_adj"] = true
	}

	if !at.ownKernel {
		// Its profiles would be loaded into the host's kernel.
		runtime["disable_apparmor"] = true
	}

	if at.snapshotter != container.Overlayfs {
		images["snapshotter"] = at.snapshotter
	}

	plugins := table{
		"io.containerd.cri.v1.runtime": runtime,
		"io.containerd.cri.v1.images":  images,
	}
	// Plugins that the machine does not use cost memory and time at each start. The EROFS differ needs a newer mkfs.erofs than Debian's;
	// without it the snapshotter converts what the default differ has unpacked.
	disabled := []string{
		"io.containerd.nri.v1.nri",
		"io.containerd.internal.v1.tracing",
		"io.containerd.tracing.processor.v1.otlp",
		"io.containerd.snapshotter.v1.btrfs",
		"io.containerd.snapshotter.v1.zfs",
		"io.containerd.snapshotter.v1.devmapper",
		"io.containerd.snapshotter.v1.blockfile",
		"io.containerd.differ.v1.erofs",
	}

	if at.snapshotter == container.Erofs {
		plugins[erofsPlugin] = table{"layer_content_caches": []string{layersDir}}
	} else {
		disabled = append(disabled, erofsPlugin)
	}

	return toml.Marshal(table{
		"version":          3,
		"root":             rootDir,
		"state":            stateDir,
		"grpc":             table{"address": layout.ContainerdSocket},
		"disabled_plugins": disabled,
		"plugins":          plugins,
	})
}

// renderHosts returns the registry hosts by path in the hosts folder. The hosts of a registry are the image cache, then the mirrors of the
// machine configuration, then the registry itself unless skipFallback is set.
func renderHosts(registries view.Registries) (map[string][]byte, error) {
	files := map[string][]byte{}

	names := []string{"_default"}
	for name := range registries.Mirrors {
		names = append(names, name)
	}

	for name := range registries.Config {
		names = append(names, name)

		if name == dockerHub {
			names = append(names, "docker.io")
		}
	}

	slices.Sort(names)

	for _, name := range slices.Compact(names) {
		content, err := renderHost(name, registries)
		if err != nil {
			return nil, err
		}

		dir := name
		if name == "*" {
			dir = "_default"
		}

		files[dir+"/hosts.toml"] = content
	}

	return files, nil
}

func renderHost(name string, registries view.Registries) ([]byte, error) {
	mirror, ok := registries.Mirrors[name]
	if !ok {
		mirror = registries.Mirrors["*"]
	}

	type host struct {
		endpoint string
		settings table
	}

	hosts := []host{{"http://" + imagecache.Address, table{"capabilities": pull}}}

	for i, endpoint := range mirror.Endpoints {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("machine.registries.mirrors[%s].endpoints: %q is not a URL with a host", name, endpoint)
		}

		settings := table{"capabilities": pull, "override_path": mirror.OverridesPath(i)}
		if insecure(registries, u.Host) {
			settings["skip_verify"] = true
		}

		hosts = append(hosts, host{endpoint, settings})
	}

	// The settings before the first host are those of the server that containerd tries last. Without a server there it tries the registry
	// itself, under its real name. To rule that out, the last mirror becomes the server.
	var server table

	if view.IsTrue(mirror.SkipFallback) {
		last := hosts[len(hosts)-1]
		hosts = hosts[:len(hosts)-1]
		server = last.settings
		server["server"] = last.endpoint
	} else if insecure(registries, name) || name == "docker.io" && insecure(registries, dockerHub) {
		server = table{"skip_verify": true}
	}

	first, err := toml.Marshal(server)
	if err != nil {
		return nil, fmt.Errorf("registry %s: %w", name, err)
	}

	var out strings.Builder

	out.Write(first)

	// containerd tries the hosts in their order in the file, so the file is not marshalled from a map.
	for _, h := range hosts {
		part, err := toml.Marshal(h.settings)
		if err != nil {
			return nil, fmt.Errorf("registry %s: host %s: %w", name, h.endpoint, err)
		}

		fmt.Fprintf(&out, "[host.%q]\n%s\n", h.endpoint, part)
	}

	return []byte(out.String()), nil
}

// dockerHub is the host that serves docker.io.
const dockerHub = "registry-1.docker.io"

// insecure reports whether the certificate of a registry is not verified.
func insecure(registries view.Registries, host string) bool {
	tls := registries.Config[host].TLS

	return tls != nil && view.IsTrue(tls.InsecureSkipVerify)
}

// pull are the capabilities of mirrors.
var pull = []string{"pull", "resolve"}

// healthTimeout of containerd under emulation, where its first answer is slow.
const healthTimeout = 5 * time.Second
