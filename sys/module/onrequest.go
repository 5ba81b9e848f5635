// SPDX-License-Identifier: Apache-2.0

package module

import "slices"

// byNameOnly are modules that the kernel does not get when it asks for them by an alias: it does so for any program that opens a
// socket, also one in a pod without any rights, and these are code that few nodes need and that has let many a program out. Who
// needs one names it in machine.kernel.modules. It is what `blacklist` is in modprobe.d(5): names, and what other modules need, are
// served.
//
//   - af_alg and what is behind it are the kernel's ciphers for programs;
//   - sctp, dccp, rds, tipc and others are protocols (CIS: "uncommon network protocols");
//   - vsock is a way to the hypervisor.
var byNameOnly = []string{
	"af_alg", "af_key", "algif_aead", "algif_hash", "algif_rng", "algif_skcipher",
	"appletalk", "atm", "ax25", "bluetooth", "caif_socket", "can", "dccp", "dccp_diag", "dccp_ipv4", "dccp_ipv6", "hv_sock", "ieee802154_socket", "kcm",
	"l2tp_ip", "l2tp_ip6", "l2tp_ppp", "llc2", "mpls_router", "netrom", "nfc", "phonet", "pppoe", "pppox", "qrtr", "rds", "rds_tcp", "rose", "rxrpc",
	"sctp", "sctp_diag", "smc", "smc_diag", "tipc", "tipc_diag", "vmw_vsock_vmci_transport", "vsock", "vsock_diag", "vsock_loopback",
	"x25",
}

// onRequest reports whether the kernel may have what it asks for: a name, or an alias of nothing that is to be named.
func (x *Index) onRequest(nameOrAlias string) (bool, []string) {
	modules := x.Resolve(nameOrAlias)

	if len(modules) == 1 && modules[0] == canonical(nameOrAlias) {
		return true, nil
	}

	refused := slices.DeleteFunc(slices.Clone(modules), func(name string) bool { return !slices.Contains(byNameOnly, name) })

	return len(refused) == 0, refused
}
