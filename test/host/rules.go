// SPDX-License-Identifier: Apache-2.0

//go:build linux

package host

import "regexp"

// rule says what is not looked at, and why.
type rule struct {
	what *regexp.Regexp
	why  string
}

// foreignMounts are mount points that others than tests make and remove.
var foreignMounts = []rule{
	{regexp.MustCompile(`^/run/user/`), "of people who log in and out"},
	{regexp.MustCompile(`^/run/credentials/`), "of systemd's services as they start"},
	{regexp.MustCompile(`^/proc/sys/fs/binfmt_misc$`), "mounted by systemd when somebody looks"},
	{regexp.MustCompile(`^(/var/lib|/run)/(docker|containerd|containers)/`), "of a container engine of the host; tests have none there"},
}

// foreignCgroups are cgroups that others than tests make and remove.
var foreignCgroups = []rule{
	{regexp.MustCompile(`\.(service|scope|slice|mount|socket|swap|device)(/|$)`), "of systemd's units, which come and go with timers and sessions"},
	{regexp.MustCompile(`(^|/)(docker|containerd|crio|libpod)[^/]*(/|$)`), "of a container engine of the host; tests have none there"},
}

// restless are sysctls that change by themselves.
var restless = []rule{
	{regexp.MustCompile(`^kernel/random/`), "random numbers, and how many there are"},
	{regexp.MustCompile(`^kernel/ns_last_pid$`), "the last process number that was given"},
	{regexp.MustCompile(`^kernel/pty/nr$`), "how many terminals there are"},
	{regexp.MustCompile(`^kernel/(tainted|hung_task_detect_count)$`), "what the kernel notes about itself"},
	{regexp.MustCompile(`^kernel/perf_`), "lowered by the kernel when sampling takes too long"},
	{regexp.MustCompile(`^kernel/sched_domain/`), "follows processors that come and go"},
	{regexp.MustCompile(`^kernel/(keys|usermodehelper)/`), "quota in use"},
	{regexp.MustCompile(`^net/netfilter/nf_conntrack_count$`), "how many connections there are"},
	{regexp.MustCompile(`^net/netfilter/nf_log`), "follows modules that are loaded"},
	{regexp.MustCompile(`^net/ipv[46]/(conf|neigh)/`), "compared with the links that they belong to"},
	{regexp.MustCompile(`^vm/(nr_hugepages_mempolicy|stat_refresh|compact_memory|drop_caches)$`), "orders to the kernel, not settings"},
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
