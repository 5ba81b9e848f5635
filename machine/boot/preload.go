// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"errors"
	"fmt"

	"github.com/seed-59268b81/talos/sys/module"
)

// preload names the modules that every node comes to need, in the order of need: the file systems
// of containers, the network of pods, and what kube-proxy and the CNI's rules are made of. The kernel would
// ask for most of them by itself, one process after another, at the moment when somebody waits for it.
var preload = []string{
	"overlay", "erofs",
	"veth", "bridge", "br_netfilter", "vxlan", "dummy",
	"nf_conntrack", "nf_nat", "nf_tables", "nft_chain_nat", "nft_compat", "nft_ct", "nft_fib_inet", "nft_masq", "nft_nat",
	"nft_reject_inet", "nft_limit", "nft_log", "nft_redir", "nft_numgen", "nft_hash", "nf_conntrack_netlink",
	"xt_addrtype", "xt_comment", "xt_conntrack", "xt_mark", "xt_MASQUERADE", "xt_multiport", "xt_nat", "xt_nfacct",
	"xt_physdev", "xt_recent", "xt_REDIRECT", "xt_statistic", "xt_tcpudp", "ipt_REJECT", "ip6t_REJECT",
}

// Preload loads them. It takes a second or two on a slow machine, so it runs beside everything else; what is
// waited for is loaded on demand in any case. Modules that this kernel does not have are passed over.
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
