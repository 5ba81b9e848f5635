// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"
	"fmt"

	"github.com/seed-59268b81/talos/sys/module"
)

// preload are the modules that every node needs, in the order of use: the file systems of containers, the network of pods, and
// netfilter for the rules of kube-proxy and CNIs. The kernel would request most of them one by one when they are first used.
var preload = []string{
	"overlay", "erofs",
	"veth", "bridge", "br_netfilter", "vxlan", "dummy",
	"nf_conntrack", "nf_nat", "nf_tables", "nft_chain_nat", "nft_compat", "nft_ct", "nft_fib_inet", "nft_masq", "nft_nat",
	"nft_reject_inet", "nft_limit", "nft_log", "nft_redir", "nft_numgen", "nft_hash", "nf_conntrack_netlink",
	"xt_addrtype", "xt_comment", "xt_conntrack", "xt_mark", "xt_MASQUERADE", "xt_multiport", "xt_nat", "xt_nfacct",
	"xt_physdev", "xt_recent", "xt_REDIRECT", "xt_statistic", "xt_tcpudp", "ipt_REJECT", "ip6t_REJECT",
}

// Preload loads modules that every node needs. It takes a second or two on a slow machine, so run it in the background: the
// kernel loads a missing module on demand. Modules that this kernel does not have are skipped.
func Preload(l *module.Loader) error {
	var errs []error

	for _, name := range preload {
		if err := l.Load(name); err != nil && !errors.Is(err, module.ErrNotFound) {
			errs = append(errs, err)
		}
	}

	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("preload: %w", err)
	}

	return nil
}
