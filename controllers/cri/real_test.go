// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/pelletier/go-toml/v2"
)

const (
	builtContainerd = "../../out/components/bin/containerd"
	builtLayout     = "../../out/components/image-layout"
	builtLayers     = "../../out/components/image-layers"
)

func needBuilt(tb testing.TB, paths ...string) {
	tb.Helper()

	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			tb.Skip("not built; run make build")
		}
	}
}

// realContainerd is a running containerd.
type realContainerd struct {
	*containerd.Client
	pid          int
	root, socket string
	stop         func()
}

// startContainerd runs the real containerd, with the configuration of a machine except for its folders and what pods need. It has its own mount
// namespace. layers is the folder with the file systems of layers, for EROFS.
func startContainerd(tb testing.TB, snapshotter, layers string) realContainerd {
	tb.Helper()

	return runContainerd(tb, place{snapshotter: snapshotter, ownKernel: true}, chosen{}, func(config table) {
		config["disabled_plugins"] = append(config["disabled_plugins"].([]any),
			"io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images", "io.containerd.podsandbox.controller.v1.podsandbox")

		if settings, ok := config["plugins"].(table)[erofsPlugin].(table); ok {
			settings["layer_content_caches"] = []string{layers}
		}
	})
}

// runContainerd runs the real containerd with a configuration that edit changes.
func runContainerd(tb testing.TB, at place, set chosen, edit func(table)) realContainerd {
	tb.Helper()

	raw, err := renderConfig(at, set)
	if err != nil {
		tb.Fatal(err)
	}

	var config table
	if err := toml.Unmarshal(raw, &config); err != nil {
		tb.Fatal(err)
	}

	dir := tb.TempDir()
	root, socket := filepath.Join(dir, "root"), filepath.Join(dir, "c.sock")
	config["root"], config["state"] = root, filepath.Join(dir, "state")
	config["grpc"], config["ttrpc"] = table{"address": socket}, table{"address": socket + ".ttrpc"}
	edit(config)

	if raw, err = toml.Marshal(config); err != nil {
		tb.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "config.toml"), raw, 0o600); err != nil {
		tb.Fatal(err)
	}

	cmd := exec.Command(builtContainerd, "--config", filepath.Join(dir, "config.toml"), "--log-level", "fatal")
	cmd.Stdout, cmd.Stderr = tb.Output(), tb.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}

	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}

	client := connect(tb, socket)

	return realContainerd{client, cmd.Process.Pid, root, socket, func() {
		client.Close()
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait() // it was stopped
	}}
}

// connect waits for containerd to listen.
func connect(tb testing.TB, socket string) *containerd.Client {
	tb.Helper()

	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		client, err := containerd.New(socket)
		if err == nil {
			if _, err = client.Version(tb.Context()); err == nil {
				return client
			}

			client.Close()
		}

		if time.Now().After(deadline) {
			tb.Fatalf("containerd does not answer: %v", err)
		}
	}
}

// fromCache makes containerd request every image from the image cache, as the hosts files do.
func fromCache(address string) remotes.Resolver {
	return docker.NewResolver(docker.ResolverOptions{Hosts: func(string) ([]docker.RegistryHost, error) {
		return []docker.RegistryHost{{
			Host: address, Scheme: "http", Path: "/v2", Capabilities: docker.HostCapabilityPull | docker.HostCapabilityResolve,
		}}, nil
	}})
}
