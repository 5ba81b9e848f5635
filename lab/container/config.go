// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"path/filepath"
	"strconv"

	"github.com/seed-59268b81/talos/lab/machine"
)

// Config describes a machine.
type Config struct {
	Name string
	// Dir is the folder of the machine's console logs and volumes.
	Dir string
	// Root is the folder of the unpacked root image, which the machines of a lab share read-only.
	Root string
	// ImageCache is a folder with an OCI image layout, or empty.
	ImageCache string
	// Cards are the network cards: eth0, eth1, ….
	Cards []machine.Card
	// Cgroup is the machine's own.
	Cgroup Cgroup
	// Limits of that cgroup.
	Limits Limits
	// IDs are the user and group ids of the machine; nil for root.
	IDs *IDs
	// Env is added to the environment of process 1.
	Env []string
}

func cardName(card int) string { return "eth" + strconv.Itoa(card) }

// ConsolePath returns the log of the latest boot; those of earlier boots are beside it, see machine.Console.
func (c *Config) ConsolePath() string { return filepath.Join(c.Dir, "console.log") }

// The folders of a machine besides its console.
const (
	stateDir     = "state"
	ephemeralDir = "ephemeral"
	rootDir      = "root"
	fifoName     = "console.fifo"
)

// env returns the environment of process 1.
func (c *Config) env() []string {
	return append([]string{
		"PLATFORM=container", "TERM=linux", "HOME=/", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}, c.Env...)
}

// spec returns the description for the stage.
func (c *Config) spec() Spec {
	return Spec{
		Name: c.Name, Env: c.env(), Init: "/sbin/init",
		Root: c.Root, NewRoot: filepath.Join(c.Dir, rootDir),
		State: filepath.Join(c.Dir, stateDir), Ephemeral: filepath.Join(c.Dir, ephemeralDir), ImageCache: c.ImageCache,
		Console: filepath.Join(c.Dir, fifoName),
		Cgroups: c.Cgroup.mounts(), Taps: len(c.Cards) + spareTaps, UserNamespace: c.IDs != nil,
	}
}
