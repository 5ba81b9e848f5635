// SPDX-License-Identifier: Apache-2.0

package module

import "slices"

// byNameOnly are modules that are not loaded when the kernel requests them by an alias. The kernel does so for any program that opens a
// socket, even in an unprivileged pod. Few nodes need this code, and programs have often used it to break out. A user who needs one
// adds it to machine.kernel.modules. It is like `blacklist` in modprobe.d(5): a module is still loaded by its name, and as a
// dependency.
//
//   - af_alg and what is behind it are the kernel's ciphers for programs;
//   - sctp, dccp, rds, tipc and others are protocols (CIS: "uncommon network protocols");
//   - vsock connects to the hypervisor.
var byNameOnly = []string{
	"af_alg", "af_key", "algif_aead", "algif_hash", "algif_rng", "algif_skcipher",
	"appletalk", "atm", "ax25", "bluetooth", "caif_socket", "can", "dccp", "dccp_diag", "dccp_ipv4", "dccp_ipv6", "hv_sock", "ieee802154_socket", "kcm",
	"l2tp_ip", "l2tp_ip6", "l2tp_ppp", "llc2", "mpls_router", "netrom", "nfc", "phonet", "pppoe", "pppox", "qrtr", "rds", "rds_tcp", "rose", "rxrpc",
	"sctp", "sctp_diag", "smc", "smc_diag", "tipc", "tipc_diag", "vmw_vsock_vmci_transport", "vsock", "vsock_diag", "vsock_loopback",
	"x25",
}

// onRequest reports whether a request of the kernel is allowed: a name, or an alias of modules that need not be named. It also returns
// the refused modules.
func (x *Index) onRequest(nameOrAlias string) (bool, []string) {
	modules := x.Resolve(nameOrAlias)

	if len(modules) == 1 && modules[0] == canonical(nameOrAlias) {
		return true, nil
	}

	refused := slices.DeleteFunc(slices.Clone(modules), func(name string) bool { return !slices.Contains(byNameOnly, name) })

	return len(refused) == 0, refused
}
