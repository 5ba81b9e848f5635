// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/images"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/lab"
	labcluster "github.com/seed-59268b81/talos/lab/cluster"
	"github.com/seed-59268b81/talos/lab/qemu"
	"github.com/seed-59268b81/talos/lab/state"
)

// createFlags holds the flags of create.
type createFlags struct {
	lab                                     lab.Options // the flags that are options of the lab
	controlPlane, worker                    sizeFlags
	world                                   worldFlags
	cidr                                    string
	provisioner, workerProvisioner          string
	root, cache                             string
	disk                                    string
	extraDisks                              int
	extraDiskSize                           string
	uefi                                    bool
	firmware                                qemu.Firmware
	kubernetesVersion, talosVersion         string
	patches, controlPlanePatch, workerPatch []string
	skipConfig                              bool
	injection                               string
	wait                                    bool
	waitTimeout                             time.Duration
	talosconfig                             string
}

// sizeFlags holds the flags of a machine's size.
type sizeFlags struct {
	cpus         int
	memory, disk string
}

// oldNames are other names of flags, and the flags that they mean.
var oldNames = map[string]string{
	"cpus-controlplanes":         "cpus",
	"memory-controlplanes":       "memory",
	"config-patch-controlplanes": "config-patch-control-plane",
	"config-patch-workers":       "config-patch-worker",
	"masters":                    "controlplanes",
	"subnet":                     "cidr",
}

// newCreateCommand returns create, with the subcommands qemu and container, which choose the provisioner.
func newCreateCommand(p *place) *cobra.Command {
	create := newCreation("create", state.QEMU, p)
	create.AddCommand(newCreation(string(state.QEMU), state.QEMU, p))

	containers := newCreation(string(state.Container), state.Container, p)
	containers.Aliases = []string{docker}
	create.AddCommand(containers)

	return create
}

// docker is another name of the provisioner of containers.
const docker = "docker"

func newCreation(name string, as state.Provisioner, p *place) *cobra.Command {
	var f createFlags

	cmd := &cobra.Command{
		Use:   name,
		Short: "Create a cluster of virtual machines or containers",
		Long: `Create a cluster of virtual machines or containers, configure them through their API, bootstrap, and wait for Kubernetes.

Virtual machines boot the disk image that make build wrote to out/images, or the one of --disk-image-path. If they are emulated, workers
get their configuration when the control plane is ready, and a single control plane does not elect a leader.

Containers run the root image of the same build in namespaces of this computer's kernel, at native speed. They need root, or subordinate
ids (Debian: uidmap) and a delegated cgroup (systemd-run --user --scope -p Delegate=yes talosctl cluster create …).`,
		Example: `  talosctl cluster create --workers 2
  talosctl cluster create --provisioner container --workers 4
  talosctl cluster create --provisioner container --provisioner-workers qemu --workers 1
  talosctl cluster create --name lab --controlplanes 3 --memory 3GiB --offline
  talosctl cluster create --provisioner container --workers 4 --sites 2 --nat symmetric
  talosctl cluster create --config-patch '{"machine": {"sysctls": {"kernel.panic": "30"}}}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.ineffective(cmd.Flags()); err != nil {
				return err
			}

			c, err := f.creation(p)
			if err != nil {
				return err
			}

			return c.run(cmd.Context(), cmd.OutOrStdout())
		},
	}

	f.flags(cmd, as)
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if now, ok := oldNames[name]; ok {
			name = now
		}

		return pflag.NormalizedName(name)
	})

	return cmd
}

func (f *createFlags) flags(cmd *cobra.Command, as state.Provisioner) {
	flags := cmd.Flags()
	flags.StringVar(&f.provisioner, "provisioner", string(as), "what the machines are: qemu (virtual machines) or container (docker means the same)")
	flags.StringVar(&f.workerProvisioner, "provisioner-workers", "", "what the worker machines are (default as --provisioner)")
	flags.IntVar(&f.lab.ControlPlanes, "controlplanes", 1, "number of control plane machines")
	flags.IntVar(&f.lab.Workers, "workers", 0, "number of worker machines")
	flags.IntVar(&f.controlPlane.cpus, "cpus", 2, "CPUs of each control plane machine")
	flags.StringVar(&f.controlPlane.memory, "memory", "4GiB", "memory of each control plane machine")
	flags.IntVar(&f.worker.cpus, "cpus-workers", 2, "CPUs of each worker machine")
	flags.StringVar(&f.worker.memory, "memory-workers", "2GiB", "memory of each worker machine")
	flags.StringVar(&f.controlPlane.disk, "disk", "10GiB", "disk of each virtual machine")
	flags.IntVar(&f.extraDisks, "extra-disks", 0, "number of additional empty disks of each virtual machine")
	flags.StringVar(&f.extraDiskSize, "extra-disks-size", "5GiB", "size of each of them")
	flags.StringVar(&f.cidr, "cidr", "10.5.0.0/24", "network of the machines; it exists only inside the lab")
	flags.Uint16Var(&f.lab.MTU, "mtu", 1500, "MTU of the networks")
	f.world.flags(cmd)
	flags.BoolVar(&f.lab.Offline, "offline", false, "do not connect the machines' network with the outside")
	flags.StringVar(&f.lab.QEMU, "qemu", "", "QEMU program (default qemu-system-x86_64 on the path)")
	flags.StringVar(&f.disk, "disk-image-path", "", "raw disk image to boot (default the one that was built last)")
	flags.StringVar(&f.root, "root-image-path", "", "root image of containers (default the one that was built last)")
	flags.StringVar(&f.cache, "image-cache-path", "", "OCI image layout for containers (default the one that was built last)")
	flags.BoolVar(&f.uefi, "with-uefi", true, "start virtual machines by UEFI firmware; false: by a BIOS")
	flags.StringVar(&f.firmware.Code, "firmware-code-path", "", "UEFI firmware for QEMU, its code")
	flags.StringVar(&f.firmware.Vars, "firmware-vars-path", "", "UEFI firmware for QEMU, its variables")
	flags.StringVar(&f.kubernetesVersion, "kubernetes-version", images.KubernetesVersion, "Kubernetes version")
	flags.StringVar(&f.talosVersion, "talos-version", generate.Oldest.String(), "generate configurations for this release; from "+generate.Documents.String()+" on they are documents, and so are their patches")
	flags.StringArrayVar(&f.patches, "config-patch", nil, "patch all machine configurations (inline, or @file)")
	flags.StringArrayVar(&f.controlPlanePatch, "config-patch-control-plane", nil, "patch the control plane configuration (inline, or @file)")
	flags.StringArrayVar(&f.workerPatch, "config-patch-worker", nil, "patch the worker configuration (inline, or @file)")
	f.userDataFlags(cmd)
	flags.BoolVar(&f.skipConfig, "skip-injecting-config", false, "only start the machines, in maintenance")
	flags.BoolVar(&f.wait, "wait", true, "wait until Kubernetes is ready")
	flags.DurationVar(&f.waitTimeout, "wait-timeout", 20*time.Minute, "how long to wait")
	flags.StringVar(&f.talosconfig, "talosconfig-destination", "", "file to merge the client configuration into (default the user's own, or with --state none)")
}

// creation returns the cluster to create from the flags.
func (f *createFlags) creation(p *place) (*creation, error) {
	dir, err := p.dir()
	if err != nil {
		return nil, err
	}

	c := &creation{place: p, createFlags: f, config: labcluster.Options(f.lab.Workers)}

	c.lab.Name, c.lab.StateDir = p.name, dir
	c.lab.Provisioner, c.lab.WorkerProvisioner = f.provisioners()

	if f.lab.ControlPlanes < 1 {
		return nil, fmt.Errorf("--controlplanes %d: a cluster has at least one", f.lab.ControlPlanes)
	}

	if c.config.Contract, err = generate.ParseContract(f.talosVersion); err != nil {
		return nil, fmt.Errorf("--talos-version: %w", err)
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

	if c.lab.Image, err = f.image(c.lab.Provisioner, c.lab.WorkerProvisioner); err != nil {
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

	if err := f.world.apply(&c.lab, &c.config); err != nil {
		return nil, err
	}

	// Find errors of the configuration before machines are started.
	if _, err := generate.New(p.name, "https://127.0.0.1:6443", f.kubernetesVersion, c.config); err != nil {
		return nil, err
	}

	return c, c.inject()
}

// provisioners returns the provisioners of the control planes and of the workers.
func (f *createFlags) provisioners() (controlPlanes, workers state.Provisioner) {
	named := func(name string) state.Provisioner {
		if name == docker {
			return state.Container
		}

		return state.Provisioner(name)
	}

	return named(f.provisioner), named(cmp.Or(f.workerProvisioner, f.provisioner))
}
