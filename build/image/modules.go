// SPDX-License-Identifier: Apache-2.0

package image

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-59268b81/talos/machine/boot"
	"github.com/seed-59268b81/talos/sys/module"
)

// initramfsModules are the modules needed to mount the root image.
var initramfsModules = []string{"loop", "squashfs"}

// evidenceModules are the driver of the firmware's memory, which keeps the reason when a boot fails.
var evidenceModules = []string{"efi_pstore"}

// watchdogModules are the drivers of watchdogs, and of the buses that some of them are on. Not every kernel has them. The kernel's own comes
// last: it is loaded when there is no other.
var watchdogModules = []string{"wdat_wdt", "lpc_ich", "i2c_i801", "iTCO_wdt", "i6300esb", "sp5100_tco", boot.SoftwareWatchdog}

// watchdogParams has the kernel's own watchdog cause a panic and no reset, so that the firmware keeps the reason.
const watchdogParams = "soft_panic=1"

// rootModules are the modules in the root image, besides their dependencies: drivers for the machines that the
// kernel is built for, file systems, and the network of Kubernetes. Some are built into the kernel. Others may be
// missing (a cloud kernel has no e1000e): they are skipped, and build -sizes lists them.
//
// The kernel loads some modules on request of any program, even in an unprivileged pod. So modules that no node needs, such as the
// ciphers for programs (AF_ALG), are not here.
var rootModules = []string{
	// Devices of virtual machines.
	"virtio_pci", "virtio_mmio", "virtio_blk", "virtio_scsi", "virtio_net", "virtio_console", "virtio_rng",
	"virtio_balloon", "virtio_mem", "virtio_pmem", "virtiofs", "9p", "9pnet_virtio", "vmw_vsock_virtio_transport",
	"xen-blkfront", "xen-netfront", "hv_storvsc", "hv_netvsc", "hv_utils", "hv_balloon", "pci-hyperv",
	"vmxnet3", "vmw_pvscsi", "ena", "gve", "ixgbevf", "mana", "qemu_fw_cfg",
	// Other disks and network cards.
	"nvme", "nvme_tcp", "ahci", "ata_piix", "ata_generic", "sd_mod", "sr_mod", "sg", "megaraid_sas", "mpt3sas",
	"e1000", "e1000e", "igb", "ixgbe", "i40e", "ice", "bnxt_en", "mlx4_en", "mlx5_core", "r8169", "tg3",
	"xhci_pci", "usb_storage", "uas", "i2c_i801",
	// Watchdogs, TPM, power button, storage for crash logs, console, clock.
	"i6300esb", "iTCO_wdt", "softdog", "tpm_crb", "tpm_tis", "button", "efivarfs", "efi_pstore", "ttyprintk", "rtc_cmos",
	// Storage and file systems.
	"loop", "squashfs", "erofs", "overlay", "xfs", "ext4", "vfat", "nls_cp437", "nls_ascii", "nls_iso8859-1", "isofs",
	"udf", // the CD with the custom data of Azure
	"fuse", "nfs", "nfsv4", "dm_mod", "dm_crypt", "dm_thin_pool", "dm_snapshot", "dm_mirror", "dm_raid",
	"raid0", "raid1", "raid10", "raid456", "iscsi_tcp", "zram", "configfs",
	// Virtual network devices.
	"bridge", "br_netfilter", "bonding", "8021q", "veth", "vxlan", "geneve", "dummy", "wireguard", "tun", "macvlan",
	"ipvlan", "ifb", "vrf", "ip_gre", "ip6_gre", "ipip", "sit", "team",
	// Packet filters, address translation and load balancing.
	"nf_conntrack", "nf_nat", "nf_tables", "nft_chain_nat", "nft_ct", "nft_compat", "nft_counter", "nft_fib_inet",
	"nft_fib_ipv4", "nft_fib_ipv6", "nft_hash", "nft_limit", "nft_log", "nft_masq", "nft_nat", "nft_numgen",
	"nft_objref", "nft_queue", "nft_quota", "nft_redir", "nft_reject_inet", "nft_reject_ipv4", "nft_reject_ipv6", "nft_set_hash",
	"nft_socket", "nft_tproxy", "nft_flow_offload", "nf_flow_table_inet", "nf_log_syslog", "nfnetlink_log",
	"nfnetlink_queue", "nf_conntrack_netlink", "ip_tables", "iptable_filter", "iptable_mangle", "iptable_nat",
	"iptable_raw", "ip6_tables", "ip6table_filter", "ip6table_mangle", "ip6table_nat", "ip6table_raw", "ipt_REJECT",
	"ip6t_REJECT", "ipt_rpfilter", "ip6t_rpfilter", "xt_addrtype", "xt_bpf", "xt_cgroup", "xt_comment",
	"xt_connlimit", "xt_connmark", "xt_conntrack", "xt_CT", "xt_dscp", "xt_hashlimit", "xt_length", "xt_limit",
	"xt_LOG", "xt_mac", "xt_mark", "xt_MASQUERADE", "xt_multiport", "xt_nat", "xt_nfacct", "xt_NFLOG", "xt_NFQUEUE",
	"xt_owner", "xt_physdev", "xt_pkttype", "xt_realm", "xt_recent", "xt_REDIRECT", "xt_set", "xt_socket",
	"xt_statistic", "xt_string", "xt_tcpmss", "xt_TCPMSS", "xt_tcpudp", "xt_TPROXY", "xt_TRACE", "xt_u32",
	"ip_set_bitmap_ip", "ip_set_bitmap_port", "ip_set_hash_ip", "ip_set_hash_ipport", "ip_set_hash_ipportip",
	"ip_set_hash_ipportnet", "ip_set_hash_net", "ip_set_hash_netport", "ip_set_hash_netnet", "ip_set_list_set",
	"ip_vs", "ip_vs_rr", "ip_vs_wrr", "ip_vs_lc", "ip_vs_wlc", "ip_vs_sh", "ip_vs_dh", "ip_vs_sed", "ip_vs_nq",
	// Queueing disciplines, classifiers and transport protocols.
	"sch_htb", "sch_ingress", "sch_fq", "sch_tbf", "sch_netem", "cls_bpf", "act_bpf", "cls_u32", "cls_matchall",
	"act_mirred", "act_police", "act_gact", "tcp_bbr", "inet_diag", "tcp_diag", "udp_diag", "sctp",
	// Ciphers of disks and tunnels.
	"aesni_intel", "xts", "crc32c_intel", "ghash_clmulni_intel",
}

// ServerDrivers are the files of the modules that servers need beside those of virtual machines: disks and their controllers, network cards,
// USB, watchdogs, sensors of the machine's state, memory errors.
var ServerDrivers = []string{
	"kernel/drivers/ata/*", "kernel/drivers/nvme/host/*", "kernel/drivers/message/fusion/*",
	"kernel/drivers/scsi/aacraid/*", "kernel/drivers/scsi/be2iscsi/*", "kernel/drivers/scsi/hpsa*", "kernel/drivers/scsi/isci/*",
	"kernel/drivers/scsi/lpfc/*", "kernel/drivers/scsi/megaraid/*", "kernel/drivers/scsi/mpi3mr/*", "kernel/drivers/scsi/mpt3sas/*",
	"kernel/drivers/scsi/qla2xxx/*", "kernel/drivers/scsi/smartpqi/*", "kernel/drivers/scsi/ses*", "kernel/drivers/md/*",
	"kernel/drivers/net/ethernet/amazon/*/*", "kernel/drivers/net/ethernet/amd/xgbe/*", "kernel/drivers/net/ethernet/aquantia/*/*",
	"kernel/drivers/net/ethernet/broadcom/*", "kernel/drivers/net/ethernet/broadcom/bn*/*", "kernel/drivers/net/ethernet/chelsio/cxgb4/*",
	"kernel/drivers/net/ethernet/cisco/enic/*", "kernel/drivers/net/ethernet/emulex/*/*", "kernel/drivers/net/ethernet/intel/*",
	"kernel/drivers/net/ethernet/intel/*/*", "kernel/drivers/net/ethernet/marvell/*", "kernel/drivers/net/ethernet/mellanox/*/*",
	"kernel/drivers/net/ethernet/myricom/*/*", "kernel/drivers/net/ethernet/pensando/*/*", "kernel/drivers/net/ethernet/qlogic/*/*",
	"kernel/drivers/net/ethernet/realtek/*", "kernel/drivers/net/ethernet/sfc/*",
	"kernel/drivers/net/usb/cdc_*", "kernel/drivers/net/usb/r8152*", "kernel/drivers/net/usb/ax88179_178a*",
	"kernel/drivers/usb/host/*", "kernel/drivers/usb/storage/*", "kernel/drivers/hid/hid-generic*", "kernel/drivers/hid/usbhid/*",
	"kernel/drivers/watchdog/*", "kernel/drivers/char/ipmi/*", "kernel/drivers/hwmon/coretemp*", "kernel/drivers/hwmon/k10temp*",
	"kernel/drivers/edac/*", "kernel/drivers/mmc/core/*", "kernel/drivers/mmc/host/sdhci*", "kernel/drivers/i2c/busses/i2c-i801*",
	"kernel/drivers/i2c/busses/i2c-piix4*",
}

// modulesLike returns the names of the modules whose files are like one of the patterns.
func modulesLike(dir string, patterns []string) ([]string, error) {
	var names []string

	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, fmt.Errorf("kernel modules like %s: %w", pattern, err)
		}

		for _, f := range files {
			if name, _, module := strings.Cut(filepath.Base(f), ".ko"); module {
				names = append(names, name)
			}
		}
	}

	slices.Sort(names)

	return slices.Compact(names), nil
}

// moduleSet is a selection of the kernel's modules.
type moduleSet struct {
	// files are paths relative to the folder of the release, in load order.
	files []string
	// absent are the modules that this kernel does not have.
	absent []string
}

// chooseModules returns the files of modules and of their dependencies.
func chooseModules(dir string, names []string) (moduleSet, error) {
	index, err := module.ReadIndex(dir)
	if err != nil {
		return moduleSet{}, err
	}

	var set moduleSet

	seen := map[string]bool{}

	for _, name := range names {
		files, err := index.Closure(name)
		if errors.Is(err, module.ErrNotFound) {
			set.absent = append(set.absent, name)

			continue
		} else if err != nil {
			return moduleSet{}, err
		}

		for _, f := range files {
			if !seen[f] {
				seen[f] = true
				set.files = append(set.files, f)
			}
		}
	}

	return set, nil
}

// installModules links the set into target, a folder of a release, and writes its index there.
func installModules(dir, target string, set moduleSet) error {
	for _, f := range set.files {
		if err := link(filepath.Join(dir, f), filepath.Join(target, f)); err != nil {
			return fmt.Errorf("install kernel module: %w", err)
		}
	}

	for _, f := range []string{"modules.builtin", "modules.builtin.modinfo", "modules.order"} {
		if err := link(filepath.Join(dir, f), filepath.Join(target, f)); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("install kernel modules index: %w", err)
		}
	}

	return module.WriteSubset(dir, target, set.files)
}
