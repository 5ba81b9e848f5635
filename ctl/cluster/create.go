// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/qemu"
)

// createFlags are what create is asked for.
type createFlags struct {
	controlPlanes, workers                  int
	controlPlane, worker                    sizeFlags
	cidr                                    string
	mtu                                     uint16
	offline                                 bool
	qemu                                    string
	disk                                    string
	extraDisks                              int
	extraDiskSize                           string
	firmware                                qemu.Firmware
	kubernetesVersion                       string
	patches, controlPlanePatch, workerPatch []string
	skipConfig                              bool
	wait                                    bool
	waitTimeout                             time.Duration
	talosconfig                             string
}

// sizeFlags is a machine's size as a person writes it.
type sizeFlags struct {
	cpus         int
	memory, disk string
}

// oldNames are flags under the names that they have elsewhere.
var oldNames = map[string]string{
	"cpus-controlplanes":         "cpus",
	"memory-controlplanes":       "memory",
	"config-patch-controlplanes": "config-patch-control-plane",
	"config-patch-workers":       "config-patch-worker",
	"masters":                    "controlplanes",
	"subnet":                     "cidr",
}

// newCreateCommand returns create, and under it, for who knows it by its
// provider, create qemu, which is the same.
func newCreateCommand(p *place) *cobra.Command {
	create := newCreation("create", p)
	create.AddCommand(newCreation("qemu", p))

	return create
}

func newCreation(name string, p *place) *cobra.Command {
	var f createFlags

	cmd := &cobra.Command{
		Use:   name,
		Short: "Create a cluster of virtual machines",
		Long: `Create a cluster of virtual machines, configure them through their API, bootstrap, and wait for Kubernetes.

The machines boot the disk image that make build left in out/images, or the one that is named. Where they are emulated, workers
get their configuration when the control plane is ready, and a control plane that is alone elects no leader.`,
		Example: `  talosctl cluster create --workers 2
  talosctl cluster create --name lab --controlplanes 3 --memory 3GiB --offline
  talosctl cluster create --config-patch '{"machine": {"sysctls": {"kernel.panic": "30"}}}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.creation(p)
			if err != nil {
				return err
			}

			return c.run(cmd.Context(), cmd.OutOrStdout())
		},
	}

	f.flags(cmd.Flags())
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if now, ok := oldNames[name]; ok {
			name = now
		}

		return pflag.NormalizedName(name)
	})

	return cmd
}

func (f *createFlags) flags(flags *pflag.FlagSet) {
	flags.IntVar(&f.controlPlanes, "controlplanes", 1, "number of control plane machines")
	flags.IntVar(&f.workers, "workers", 0, "number of worker machines")
	flags.IntVar(&f.controlPlane.cpus, "cpus", 2, "CPUs of each control plane machine")
	flags.StringVar(&f.controlPlane.memory, "memory", "4GiB", "memory of each control plane machine")
	flags.IntVar(&f.worker.cpus, "cpus-workers", 2, "CPUs of each worker machine")
	flags.StringVar(&f.worker.memory, "memory-workers", "2GiB", "memory of each worker machine")
	flags.StringVar(&f.controlPlane.disk, "disk", "10GiB", "disk of each machine")
	flags.IntVar(&f.extraDisks, "extra-disks", 0, "number of empty disks of each machine beside its own")
	flags.StringVar(&f.extraDiskSize, "extra-disks-size", "5GiB", "size of each of them")
	flags.StringVar(&f.cidr, "cidr", "10.5.0.0/24", "network of the machines; it exists only inside the lab")
	flags.Uint16Var(&f.mtu, "mtu", 1500, "MTU of that network")
	flags.BoolVar(&f.offline, "offline", false, "leave the machines no way out of their network")
	flags.StringVar(&f.qemu, "qemu", "", "QEMU program (default qemu-system-x86_64 on the path)")
	flags.StringVar(&f.disk, "disk-image-path", "", "raw disk image to boot (default the one that was built last)")
	flags.StringVar(&f.firmware.Code, "firmware-code-path", "", "UEFI firmware for QEMU, its code")
	flags.StringVar(&f.firmware.Vars, "firmware-vars-path", "", "UEFI firmware for QEMU, its variables")
	flags.StringVar(&f.kubernetesVersion, "kubernetes-version", images.KubernetesVersion, "Kubernetes version")
	flags.StringArrayVar(&f.patches, "config-patch", nil, "patch all machine configurations (inline, or @file)")
	flags.StringArrayVar(&f.controlPlanePatch, "config-patch-control-plane", nil, "patch the control plane configuration (inline, or @file)")
	flags.StringArrayVar(&f.workerPatch, "config-patch-worker", nil, "patch the worker configuration (inline, or @file)")
	flags.BoolVar(&f.skipConfig, "skip-injecting-config", false, "only start the machines, and leave them in maintenance")
	flags.BoolVar(&f.wait, "wait", true, "wait until Kubernetes is ready")
	flags.DurationVar(&f.waitTimeout, "wait-timeout", 20*time.Minute, "how long to wait")
	flags.StringVar(&f.talosconfig, "talosconfig-destination", "", "file to merge the client configuration into (default the user's own, or with --state none)")
}

// creation turns the flags into what is to be created.
func (f *createFlags) creation(p *place) (*creation, error) {
	dir, err := p.dir()
	if err != nil {
		return nil, err
	}

	c := &creation{place: p, createFlags: f}

	c.lab = lab.Options{
		Name: p.name, StateDir: dir, ControlPlanes: f.controlPlanes, Workers: f.workers,
		QEMU: f.qemu, MTU: f.mtu, Offline: f.offline,
	}

	if f.controlPlanes < 1 {
		return nil, fmt.Errorf("--controlplanes %d: a cluster has at least one", f.controlPlanes)
	}

	if c.lab.Subnet, err = netip.ParsePrefix(f.cidr); err != nil {
		return nil, fmt.Errorf("--cidr: %w", err)
	}

	if c.lab.ControlPlane, err = f.controlPlane.size("", f.controlPlane.disk); err != nil {
		return nil, err
	}

	if c.lab.Worker, err = f.worker.size("-workers", f.controlPlane.disk); err != nil {
		return nil, err
	}

	if c.lab.ExtraDisks, err = f.extra(); err != nil {
		return nil, err
	}

	if c.lab.Image, err = f.image(); err != nil {
		return nil, err
	}

	if c.lab.Supervisor, err = supervisorCommand(); err != nil {
		return nil, err
	}

	for _, patches := range []struct {
		flag string
		args []string
		into *[]patch.Patch
	}{
		{"--config-patch", f.patches, &c.config.Patches},
		{"--config-patch-control-plane", f.controlPlanePatch, &c.config.ControlPlanePatches},
		{"--config-patch-worker", f.workerPatch, &c.config.WorkerPatches},
	} {
		if *patches.into, err = patch.Load(patches.args); err != nil {
			return nil, fmt.Errorf("%s: %w", patches.flag, err)
		}
	}

	c.config.InstallDisk = "/dev/vda"
	// What talks to this computer's ports sees that name.
	c.config.AdditionalSANs = []string{"127.0.0.1"}
	// A service on the internet cannot be reached from a lab without a way out.
	c.config.NoClusterDiscovery = f.offline
	c.config.AllowSchedulingOnControlPlanes = f.workers == 0

	// What is wrong with the configuration is said before machines are started.
	if _, err := generate.New(p.name, "https://127.0.0.1:6443", f.kubernetesVersion, c.config); err != nil {
		return nil, err
	}

	return c, nil
}

func (s sizeFlags) size(suffix, disk string) (lab.Size, error) {
	memory, err := bytesOf("--memory"+suffix, s.memory, 256<<20)
	if err != nil {
		return lab.Size{}, err
	}

	space, err := bytesOf("--disk", disk, 1<<30)
	if err != nil {
		return lab.Size{}, err
	}

	if s.cpus < 1 {
		return lab.Size{}, fmt.Errorf("--cpus%s %d: a machine has at least one", suffix, s.cpus)
	}

	return lab.Size{CPUs: s.cpus, MemoryMiB: int(memory >> 20), DiskGiB: int(space >> 30)}, nil
}

// extra are the sizes of the disks beside a machine's own, in GiB.
func (f *createFlags) extra() ([]int, error) {
	if f.extraDisks < 0 {
		return nil, fmt.Errorf("--extra-disks %d: want none or more", f.extraDisks)
	}

	size, err := bytesOf("--extra-disks-size", f.extraDiskSize, 1<<30)
	if err != nil {
		return nil, err
	}

	return slices.Repeat([]int{int(size >> 30)}, f.extraDisks), nil
}

// bytesOf reads an amount such as 4GiB; a number alone counts MiB.
func bytesOf(flag, text string, least uint64) (uint64, error) {
	written := text

	if digits(text) {
		text += "MiB"
	}

	n, err := humanize.ParseBytes(text)
	if err != nil {
		return 0, fmt.Errorf("%s %q: want an amount such as 4GiB or 4096MiB", flag, written)
	}

	if n < least {
		return 0, fmt.Errorf("%s %q: want at least %s", flag, written, humanize.IBytes(least))
	}

	return n, nil
}

func digits(text string) bool {
	for _, r := range text {
		if r < '0' || r > '9' {
			return false
		}
	}

	return text != ""
}
