// SPDX-License-Identifier: Apache-2.0

//go:build linux

package host

import "regexp"

// rule is a pattern of names that are left out, and the reason.
type rule struct {
	what *regexp.Regexp
	why  string
}

// foreignMounts are mount points that other programs than tests create and remove.
var foreignMounts = []rule{
	{regexp.MustCompile(`^/run/user/`), "of people who log in and out"},
	{regexp.MustCompile(`^/run/credentials/`), "of systemd's services as they start"},
	{regexp.MustCompile(`^/(media|run/media)/`), "of drives that people plug in"},
	{regexp.MustCompile(`^/(proc/sys/fs/binfmt_misc|sys/kernel/debug/tracing)$`), "mounted at the first access"},
	{regexp.MustCompile(`^/sys/(fs/fuse/connections|kernel/config)$`), "mounted by systemd when the kernel's module is loaded"},
	{regexp.MustCompile(`^/(snap|var/lib/snapd/snap|run/snapd)/`), "of snapd, which updates its packages by itself"},
	{regexp.MustCompile(`^(/var/lib|/run)/(docker|containerd|containers|kubelet)/`), "of a container engine of the host; tests have none there"},
	{regexp.MustCompile(`^/run/netns/cni-`), "of the pods of a container engine of the host"},
}

// foreignNamespaces are names of network namespaces that other programs than tests create and remove.
var foreignNamespaces = []rule{
	{regexp.MustCompile(`^/run/netns/cni-`), "of the pods of a container engine of the host"},
}

// foreignLoops are the files of loop devices that other programs than tests create and remove.
var foreignLoops = []rule{
	{regexp.MustCompile(`^/var/lib/snapd/`), "of snapd, which updates its packages by itself"},
}

// foreignLinks are links that other programs than tests create and remove. Tests name their pairs themselves.
var foreignLinks = []rule{
	{regexp.MustCompile(`^veth[0-9a-f]{7,8}$`), "of a container of a container engine of the host"},
	{regexp.MustCompile(`^(cali|lxc)[0-9a-z_]{8,}$`), "of a pod of a Kubernetes on the host"},
	{regexp.MustCompile(`^vnet[0-9]+$`), "of a virtual machine of libvirt"},
}

// foreignCgroups are cgroups that other programs than tests create and remove.
var foreignCgroups = []rule{
	{regexp.MustCompile(`\.(service|scope|slice|mount|socket|swap|device)(/|$)`), "of systemd's units, which come and go with timers and sessions"},
	{regexp.MustCompile(`(^|/)(docker|containerd|crio|libpod)[^/]*(/|$)`), "of a container engine of the host; tests have none there"},
}

// restless are sysctls that change by themselves.
var restless = []rule{
	{regexp.MustCompile(`^fs/binfmt_misc$`), "a file system of its own, mounted at the first access"},
	{regexp.MustCompile(`^fs/(file-nr|inode-nr|inode-state|dentry-state|aio-nr|quota/.*)$`), "counters"},
	{regexp.MustCompile(`^kernel/random/`), "random numbers, and how many there are"},
	{regexp.MustCompile(`^kernel/ns_last_pid$`), "the last process number that was given"},
	{regexp.MustCompile(`^kernel/pty/nr$`), "how many terminals there are"},
	{regexp.MustCompile(`^kernel/(tainted|hung_task_detect_count)$`), "what the kernel notes about itself"},
	{regexp.MustCompile(`^kernel/hung_task_warnings$`), "counts down with each warning of the kernel on a busy machine"},
	{regexp.MustCompile(`^kernel/perf_event_max_sample_rate$`), "lowered by the kernel when sampling takes too long"},
	{regexp.MustCompile(`^kernel/sched_domain/`), "follows processors that come and go"},
	{regexp.MustCompile(`^net/netfilter/nf_conntrack_count$`), "how many connections there are"},
	{regexp.MustCompile(`^net/netfilter/nf_log`), "follows modules that are loaded"},
	{regexp.MustCompile(`^net/(ipv4/tcp|mptcp/)_?available_`), "follows modules that are loaded"},
	{regexp.MustCompile(`^net/ipv4/tcp_fastopen_key$`), "made by the kernel when a program first asks for it"},
	{regexp.MustCompile(`^net/ipv6/conf/[^/]+/(mtu|hop_limit)$`), "set by router advertisements"},
	{regexp.MustCompile(`^net/ipv6/neigh/[^/]+/(base_reachable|retrans)_time(_ms)?$`), "set by router advertisements"},
	{regexp.MustCompile(`^vm/(nr_hugepages_mempolicy|stat_refresh|compact_memory|drop_caches)$`), "commands to the kernel, not settings"},
}

// leftOut reports whether a rule matches.
func leftOut(rules []rule, name string) bool {
	for _, r := range rules {
		if r.what.MatchString(name) {
			return true
		}
	}

	return false
}
