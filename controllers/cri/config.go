// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"fmt"
	"slices"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/controllers/cri/settings"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/resources/cri"
	"github.com/seed-59268b81/talos/service/container"
)

// Paths of containerd.
const (
	ConfigPath = layout.ContainerdConfig
	rootDir    = layout.ContainerdDir
	stateDir   = layout.ContainerdRunDir
	cniConfDir = "/etc/cni/net.d"
	cniBinDir  = layout.OptDir + "/cni/bin"
	// layersDir has the layers of the image cache as file system images.
	layersDir = layout.ImageCacheDir + "/" + images.LayersDir
)

// erofsPlugin keeps its snapshots in a folder of this name in rootDir.
const erofsPlugin = "io.containerd.snapshotter.v1.erofs"

type table = map[string]any

// chosen is what the machine configuration says about containerd. containerd reads all of it only at its start.
type chosen struct {
	// auths are the credentials for the pulls of pods.
	auths map[string]cri.RegistryAuthConfig
	// baseSpec is the path of the specification with which containers begin, or empty.
	baseSpec string
	// customization is TOML that is put over the rest.
	customization string
}

// renderConfig returns containerd's configuration. It does not name the mirrors of registries: containerd reads the hosts folder at each pull,
// so a change of mirrors needs no restart.
func renderConfig(at place, set chosen) ([]byte, error) {
	runc := table{"runtime_type": "io.containerd.runc.v2", "options": table{"SystemdCgroup": false}}
	if set.baseSpec != "" {
		runc["base_runtime_spec"] = set.baseSpec
	}

	registry := table{"config_path": container.HostsDir}
	if len(set.auths) > 0 {
		registry["configs"] = registryConfigs(set.auths)
	}

	runtime := table{
		"cni": table{"bin_dirs": []string{cniBinDir}, "conf_dir": cniConfDir},
		"containerd": table{
			"default_runtime_name": "runc",
			"runtimes":             table{"runc": runc},
		},
		"enable_unprivileged_ports": true,
		"enable_unprivileged_icmp":  true,
	}

	images := table{
		"discard_unpacked_layers": true,
		"pinned_images":           table{"sandbox": images.DefaultPause},
		"registry":                registry,
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

	rendered, err := toml.Marshal(table{
		"version":       settings.ConfigVersion,
		"root":          rootDir,
		"state":         stateDir,
		"grpc":          table{"address": layout.ContainerdSocket},
		disabledPlugins: disabled,
		"plugins":       plugins,
	})
	if err != nil || set.customization == "" {
		return rendered, err
	}

	return customize(rendered, set.customization)
}

// customize puts parts over containerd's configuration. A part that configures one of the plugins that the machine does not use enables it,
// unless it disables it too: this is how NRI is enabled.
func customize(rendered []byte, customization string) ([]byte, error) {
	var config table
	if err := toml.Unmarshal(rendered, &config); err != nil {
		return nil, fmt.Errorf("containerd's configuration: %w", err)
	}

	part, err := settings.DecodePart(customization)
	if err != nil {
		return nil, fmt.Errorf("customization of containerd's configuration: %w", err)
	}

	own, _ := config[disabledPlugins].([]any)
	configured, _ := part["plugins"].(table)
	config[disabledPlugins] = slices.DeleteFunc(own, func(id any) bool {
		name, _ := id.(string)
		_, enabled := configured[name]

		return enabled
	})

	settings.Merge(config, part)

	return toml.Marshal(config)
}

const disabledPlugins = "disabled_plugins"

// registryConfigs returns the credentials as containerd has them in its configuration: it cannot read them from the hosts folder.
func registryConfigs(auths map[string]cri.RegistryAuthConfig) table {
	out := table{}

	for host, auth := range auths {
		out[host] = table{"auth": table{
			"username": auth.RegistryUsername, "password": auth.RegistryPassword,
			"auth": auth.RegistryAuth, "identitytoken": auth.RegistryIdentityToken,
		}}
	}

	return out
}

// healthTimeout of containerd under emulation, where its first answer is slow.
const healthTimeout = 5 * time.Second
