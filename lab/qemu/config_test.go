// SPDX-License-Identifier: Apache-2.0

package qemu

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/seed-59268b81/talos/lab/machine"
	"github.com/seed-59268b81/talos/lab/qemu/accel"
)

func TestArgs(t *testing.T) {
	base := Config{
		Name: "demo-1", UUID: "u", Dir: "/lab/demo-1", CPUs: 2, MemoryMiB: 4096,
		Cards: []machine.Card{{MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 0, 2}}},
	}

	tests := []struct {
		name string
		edit func(*Config)
		want []string // in order, beside those that all have
	}{
		{"emulation", func(*Config) {}, []string{"-accel tcg,thread=multi", "-cpu max,-la57,-erms"}},
		{"emulation of one CPU", func(c *Config) { c.CPUs = 1 }, []string{"-accel tcg,thread=multi", "-cpu max,-la57,-erms,-tsc"}},
		{"KVM", func(c *Config) { c.Accel = accel.Accel{KVM: true} }, []string{"-accel kvm", "-cpu host"}},
		{
			"UEFI and two disks",
			func(c *Config) {
				c.Firmware = &Firmware{Code: "/fw/code,x", Vars: "/fw/vars"}
				c.Disks = []Disk{{Path: "/lab/a", Format: "qcow2"}, {Path: "/lab/b", Format: "raw"}}
			},
			[]string{
				"-accel tcg,thread=multi", "-cpu max,-la57,-erms",
				"-drive if=pflash,unit=0,format=raw,readonly=on,file=/fw/code,,x",
				"-drive if=pflash,unit=1,format=raw,file=/lab/demo-1/efivars.fd",
				"-drive if=none,id=disk0,format=qcow2,cache=unsafe,discard=unmap,file=/lab/a",
				"-device virtio-blk-pci,drive=disk0,serial=disk0,bootindex=1",
				"-drive if=none,id=disk1,format=raw,cache=unsafe,discard=unmap,file=/lab/b",
				"-device virtio-blk-pci,drive=disk1,serial=disk1,bootindex=2",
			},
		},
		{
			"a disk and a CD",
			func(c *Config) { c.Disks, c.CD = []Disk{{Path: "/lab/a", Format: "qcow2"}}, "/lab/b,c" },
			[]string{
				"-accel tcg,thread=multi", "-cpu max,-la57,-erms",
				"-drive if=none,id=disk0,format=qcow2,cache=unsafe,discard=unmap,file=/lab/a",
				"-device virtio-blk-pci,drive=disk0,serial=disk0,bootindex=1",
				"-device virtio-scsi-pci,id=scsi",
				"-drive if=none,id=cd,format=raw,readonly=on,file=/lab/b,,c",
				"-device scsi-cd,bus=scsi.0,drive=cd,bootindex=2",
			},
		},
		{
			"a disk whose writes are recorded",
			func(c *Config) { c.Disks = []Disk{{Path: "/lab/a,b", Format: "qcow2", Log: "/lab/a.log"}} },
			[]string{
				"-accel tcg,thread=multi", "-cpu max,-la57,-erms",
				"-blockdev driver=file,node-name=disk0-file,cache.no-flush=on,discard=unmap,filename=/lab/a,,b",
				"-blockdev driver=qcow2,node-name=disk0-content,file=disk0-file,cache.no-flush=on,discard=unmap",
				"-blockdev driver=file,node-name=disk0-log,cache.no-flush=on,filename=/lab/a.log",
				"-blockdev driver=blklogwrites,node-name=disk0,file=disk0-content,log=disk0-log",
				"-device virtio-blk-pci,drive=disk0,serial=disk0,bootindex=1",
			},
		},
		{
			"a serial number",
			func(c *Config) { c.Serial = "ds=nocloud;s=http://a,b/"; c.Accel = accel.Accel{KVM: true} },
			[]string{"-accel kvm", "-cpu host"},
		},
		{
			"a kernel",
			func(c *Config) { c.Kernel, c.Initrd, c.Cmdline = "/k", "/i", "console=ttyS0 x" },
			[]string{"-accel tcg,thread=multi", "-cpu max,-la57,-erms", "-kernel /k", "-append console=ttyS0 x", "-initrd /i"},
		},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := base
			tt.edit(&cfg)

			args := pairs(cfg.args())

			for _, want := range []string{
				fmt.Sprintf("-smp %d", cfg.CPUs), "-m 4096", "-device pcie-root-port,id=slot0,bus=pcie.0,chassis=1,addr=0x10",
				"-device virtio-net-pci,id=card0,bus=slot0,netdev=net0,romfile=,mac=52:54:00:00:00:02",
				"-netdev stream,id=net0,server=off,addr.type=fd,addr.str=5",
			} {
				if !slices.Contains(args, want) {
					t.Errorf("no %q in %q", want, args)
				}
			}

			if serial := slices.Contains(args, "-smbios type=1,serial=ds=nocloud;s=http://a,,b/"); serial != (cfg.Serial != "") {
				t.Errorf("serial number %q: got the argument: %t in %q", cfg.Serial, serial, args)
			}

			if strings.Contains(strings.Join(args, " "), "-no-reboot") {
				t.Error("a guest that reboots would not boot again")
			}

			from := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-accel") })
			if d := cmp.Diff(tt.want, args[from:]); d != "" {
				t.Errorf("arguments (-want +got):\n%s", d)
			}
		})
	}
}

// TestCardArgs checks that each card keeps its own slot, whichever others are plugged in.
func TestCardArgs(t *testing.T) {
	cfg := Config{Cards: []machine.Card{
		{MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 0, 2}, Unplugged: true},
		{MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 0, 3}},
		{MAC: net.HardwareAddr{0x52, 0x54, 0, 0, 0, 4}},
	}}
	want := []string{
		"-device pcie-root-port,id=slot0,bus=pcie.0,chassis=1,addr=0x10",
		"-device pcie-root-port,id=slot1,bus=pcie.0,chassis=2,addr=0x11",
		"-device pcie-root-port,id=slot2,bus=pcie.0,chassis=3,addr=0x12",
		"-netdev stream,id=net1,server=off,addr.type=fd,addr.str=5",
		"-device virtio-net-pci,id=card1,bus=slot1,netdev=net1,romfile=,mac=52:54:00:00:00:03",
		"-netdev stream,id=net2,server=off,addr.type=fd,addr.str=6",
		"-device virtio-net-pci,id=card2,bus=slot2,netdev=net2,romfile=,mac=52:54:00:00:00:04",
	}

	if d := cmp.Diff(want, pairs(cfg.cardArgs())); d != "" {
		t.Errorf("arguments (-want +got):\n%s", d)
	}
}

// pairs joins each option with its value.
func pairs(args []string) []string {
	var out []string

	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			out = append(out, a)
		} else {
			out[len(out)-1] += " " + a
		}
	}

	return out
}
