// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/seed-59268b81/talos/lab/qemu"
	"github.com/seed-59268b81/talos/lab/state"
	"github.com/seed-59268b81/talos/lab/world"
)

// Options describe a lab to create. Zero values have the defaults that are named here.
type Options struct {
	// Name of the lab, which is the first part of its nodes' names.
	Name string
	// StateDir is the lab's own directory.
	StateDir string

	// ControlPlanes and Workers are numbers of nodes; together at least one.
	ControlPlanes, Workers int
	// ControlPlane and Worker are the sizes of their machines, by default 2 CPUs, 4096 and 2048 MiB of memory, and 10
	// GiB of disk.
	ControlPlane, Worker Size

	// Provisioner is that of the control planes, by default QEMU. WorkerProvisioner is that of the workers, by default
	// the same.
	Provisioner, WorkerProvisioner state.Provisioner

	// Off are the names of machines that are not switched on with the lab. A name is that of the lab, a role and a number, such as
	// demo-controlplane-2.
	Off []string
	// Virtual are the names of machines that QEMU runs, of a role whose others are containers.
	Virtual []string

	// ExtraDisks are the sizes in GiB of further, empty disks of each machine.
	ExtraDisks []int

	// Image is what the machines boot.
	Image Image
	// Cloud is the platform of the machines: one of metadata.Platforms, or metadata.Metal, where virtual machines download
	// their user data. Its metadata server runs on each network without a cloud of its own.
	Cloud string
	// UserData, if set, is called for each machine before it is switched on. Containers have what it returns in their
	// environment, and virtual machines need a Cloud for it.
	UserData UserData
	// QEMU is the program, by default qemu-system-x86_64 on the path.
	QEMU string

	// Subnet, of IPv4, and Subnet6 are those of the network "lab", which exists if no other network is described.
	// Without a Subnet6 it has only IPv4, by default 10.5.0.0/24. With only a Subnet6 it has only IPv6.
	Subnet, Subnet6 netip.Prefix
	// MTU of the networks without one of their own, 1500 by default.
	MTU uint16
	// Networks and Routers describe a world of more than one network, and Sites one of networks behind NAT routers; see
	// package world.
	Networks []world.Network
	Routers  []world.Router
	Sites    []world.Site
	// ControlPlaneCards and WorkerCards are the network cards of each machine of a role. By default each machine has
	// one on the first network. With sites, each worker has its card on the next site.
	ControlPlaneCards, WorkerCards []world.Card
	// ExtraCards are further cards of each machine of a role.
	ExtraCards []world.Card
	// NodeCards are the cards of machines by name, instead of those of their role.
	NodeCards map[string][]world.Card
	// LeaseTime of DHCP is one hour by default.
	LeaseTime time.Duration
	// Offline labs have no connection to the world.
	Offline bool
	// Seed makes the loss of frames repeatable.
	Seed uint64

	// Supervisor is the command that runs the lab. The lab's directory is added as its last argument. Without a
	// command, the lab runs in this process and ends with it.
	Supervisor []string
	// Log is for a lab in this process, by default the lab's log file.
	Log *slog.Logger
}

// Size is the size of a machine.
type Size struct {
	CPUs, MemoryMiB, DiskGiB int
}

func (s Size) withDefaults(d Size) Size {
	return Size{CPUs: cmp.Or(s.CPUs, d.CPUs), MemoryMiB: cmp.Or(s.MemoryMiB, d.MemoryMiB), DiskGiB: cmp.Or(s.DiskGiB, d.DiskGiB)}
}

// Image is what machines boot: a disk image through UEFI or a BIOS, or a kernel directly, with or without a disk image.
type Image struct {
	// Disk is a raw image, copied once for the lab. It boots with the arguments of its own kernel image, and those that
	// Options.Cloud needs.
	Disk string
	// CD is the image of a CD, in place of Disk, which starts with its own arguments. The firmware starts it as long as the machine's own disk,
	// which is empty at first, has nothing to start.
	CD string
	// Firmware is UEFI for QEMU. It is needed to boot from a disk, except by a BIOS.
	Firmware *qemu.Firmware
	// BIOS is set for machines with QEMU's BIOS in place of Firmware.
	BIOS bool

	Kernel, Initrd, Cmdline string

	// Record records the writes to the first disk of each virtual machine, for package test/replay.
	Record bool

	// Root is the root image of containers (squashfs), which is unpacked once for the lab, or a folder with its
	// content.
	Root string
	// Cache is a folder with an OCI image layout for containers, in place of a partition.
	Cache string
}

var (
	defaultSubnet       = netip.MustParsePrefix("10.5.0.0/24")
	defaultControlPlane = Size{CPUs: 2, MemoryMiB: 4096, DiskGiB: 10}
	defaultWorker       = Size{CPUs: 2, MemoryMiB: 2048, DiskGiB: 10}
)

// names matches a part of a host name.
var names = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// Plan checks options and returns the lab that they describe.
func (o Options) Plan() (*state.Lab, error) {
	o.LeaseTime = cmp.Or(o.LeaseTime, time.Hour)
	o.Provisioner = cmp.Or(o.Provisioner, state.QEMU)
	o.WorkerProvisioner = cmp.Or(o.WorkerProvisioner, o.Provisioner)
	o.Seed = cmp.Or(o.Seed, rand.Uint64())

	if err := o.check(); err != nil {
		return nil, err
	}

	if o.Image.BIOS {
		o.Image.Firmware = nil
	}

	dir, err := filepath.Abs(o.StateDir)
	if err != nil {
		return nil, fmt.Errorf("lab's directory: %w", err)
	}

	lab := &state.Lab{
		Dir: dir, Name: o.Name, Created: time.Now().UTC().Truncate(time.Second),
		Domain: o.domain(), LeaseTime: o.LeaseTime, Seed: o.Seed, World: o.world(),
		Machine: state.Machine{
			QEMU: o.QEMU, Firmware: o.Image.Firmware, Kernel: o.Image.Kernel, Initrd: o.Image.Initrd, Cmdline: strings.TrimSpace(o.Image.Cmdline + " " + strings.Join(o.args(), " ")),
			Root: o.Image.Root, Cache: o.Image.Cache, CD: o.Image.CD != "", Record: o.Image.Record,
		},
	}

	add := func(role state.Role, as state.Provisioner, count int, size Size) {
		for i := range count {
			name := fmt.Sprintf("%s-%s-%d", o.Name, role, i+1)

			as := as
			if slices.Contains(o.Virtual, name) {
				as = state.QEMU
			}

			lab.Nodes = append(lab.Nodes, state.Node{
				Name: name, Role: role, Provisioner: as, Cards: o.cards(&lab.World, role, i, name), UUID: uuid.NewString(),
				CPUs: size.CPUs, MemoryMiB: size.MemoryMiB, DiskGiB: size.DiskGiB, ExtraDisksGiB: o.ExtraDisks,
				Off: slices.Contains(o.Off, name),
			})
		}
	}
	add(state.ControlPlane, o.Provisioner, o.ControlPlanes, o.ControlPlane.withDefaults(defaultControlPlane))
	add(state.Worker, o.WorkerProvisioner, o.Workers, o.Worker.withDefaults(defaultWorker))

	if err := lab.World.Plan(lab.Machines()); err != nil {
		return nil, err
	}

	for i := range lab.Nodes {
		lab.Nodes[i].Addr = lab.Nodes[i].Cards[0].Addr()
	}

	return lab, errors.Join(o.checkNodeCards(lab), checkNames(lab, "stays off", o.Off), checkNames(lab, "is virtual", o.Virtual))
}

// checkNames checks the names of machines for which something holds.
func checkNames(lab *state.Lab, what string, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(lab.Nodes, func(n state.Node) bool { return n.Name == name }) {
			return fmt.Errorf("machine %q that %s: the lab has no such machine", name, what)
		}
	}

	return nil
}

// domain is the lab's own zone in DNS.
func (o *Options) domain() string { return o.Name + ".lab.internal" }

func (o *Options) check() error {
	var errs []error

	if !names.MatchString(o.Name) {
		errs = append(errs, fmt.Errorf("lab name %q: want up to 32 lower-case letters, digits and dashes, as it becomes part of host names", o.Name))
	}

	if o.StateDir == "" {
		errs = append(errs, errors.New("the lab's directory is not configured"))
	}

	if o.ControlPlanes < 0 || o.Workers < 0 || o.ControlPlanes+o.Workers == 0 {
		errs = append(errs, fmt.Errorf("%d control planes and %d workers: want at least one node", o.ControlPlanes, o.Workers))
	}

	for _, as := range []state.Provisioner{o.Provisioner, o.WorkerProvisioner} {
		if as != state.QEMU && as != state.Container {
			errs = append(errs, fmt.Errorf("provisioner %q: want %s or %s", as, state.QEMU, state.Container))
		}
	}

	for _, s := range []Size{o.ControlPlane, o.Worker} {
		if s.CPUs < 0 || s.MemoryMiB < 0 || s.DiskGiB < 0 {
			errs = append(errs, fmt.Errorf("machine size %+v: must not be negative", s))
		}
	}

	for _, size := range o.ExtraDisks {
		if size < 1 {
			errs = append(errs, fmt.Errorf("extra disk of %d GiB: want at least 1", size))
		}
	}

	if err := o.checkUserData(); err != nil {
		errs = append(errs, err)
	}

	return errors.Join(append(errs, o.checkFiles()...)...)
}
