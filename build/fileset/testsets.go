// SPDX-License-Identifier: Apache-2.0

package fileset

// testSets are the files from Debian in the images of Kubernetes' tests.
var testSets = []set{
	{
		// The programs of test/images/agnhost/Dockerfile, and getent, which Alpine has in its C library's package. Of
		// util-linux, those that tests call or that are useful for debugging.
		name: "test-tools", about: "curl, dig, netcat, ip, iperf, bash and ipcs for agnhost",
		packages: []string{
			"bash", "bind9-dnsutils", "bind9-host", "bind9-libs", "curl", "iperf", "iproute2", "libc-bin", "netcat-openbsd",
			"util-linux", "libaudit1", "libblkid1", "libbpf1", "libbrotli1", "libbsd0", "libc6", "libcap-ng0", "libcap2",
			"libcom-err2", "libcrypt1", "libcurl4", "libdb5.3", "libedit2", "libelf1", "libffi8", "libfstrm0", "libgcc-s1",
			"libgmp10", "libgnutls30", "libgssapi-krb5-2", "libhogweed6", "libicu72", "libidn2-0", "libjemalloc2", "libjson-c5",
			"libk5crypto3", "libkeyutils1", "libkrb5-3", "libkrb5support0", "libldap-2.5-0", "liblmdb0", "liblzma5",
			"libmaxminddb0", "libmd0", "libmnl0", "libmount1", "libnettle8", "libnghttp2-14", "libp11-kit0", "libpcre2-8-0",
			"libprotobuf-c1", "libpsl5", "librtmp1", "libsasl2-2", "libselinux1", "libsmartcols1", "libssh2-1", "libssl3",
			"libstdc++6", "libtasn1-6", "libtinfo6", "libtirpc3", "libudev1", "libunistring2", "libuuid1", "libuv1", "libxml2",
			"libxtables12", "libzstd1", "zlib1g",
		},
		files: []string{
			"usr/bin/bash", "usr/bin/curl", "usr/bin/dig", "usr/bin/host", "usr/bin/nslookup", "usr/bin/nsupdate", "usr/bin/delv",
			"usr/bin/iperf", "usr/bin/nc.openbsd", "usr/bin/getent", "usr/bin/ip", "usr/bin/ss", "usr/sbin/bridge", "usr/sbin/tc",
			"usr/bin/ipcs", "usr/bin/ipcmk", "usr/bin/ipcrm", "usr/bin/lsipc", "usr/bin/lsns", "usr/bin/nsenter",
			"usr/bin/unshare", "usr/bin/setpriv", "usr/bin/prlimit", "usr/bin/taskset", "usr/bin/lscpu", "usr/bin/findmnt",
		},
	},
	{
		name: "conntrack-files", about: "conntrack",
		packages: []string{"conntrack", "libnetfilter-conntrack3", "libnfnetlink0", "libmnl0", "libc6"},
		files:    []string{"usr/sbin/conntrack"},
	},
	{
		name: "nginx-files", about: "nginx",
		packages: []string{"nginx", "nginx-common", "libc6", "libcrypt1", "libpcre2-8-0", "libssl3", "zlib1g"},
		files:    []string{"usr/sbin/nginx", "etc/nginx/mime.types", "usr/share/nginx/html/index.html"},
	},
	{
		name: "perl-files", about: "Perl and its essential modules",
		packages: []string{"perl-base", "libc6", "libcrypt1"},
		files:    []string{"usr/bin/perl", "usr/lib/x86_64-linux-gnu/perl-base"},
	},
	{
		name: "stress-files", about: "stress",
		packages: []string{"stress", "libc6"},
		files:    []string{"usr/bin/stress"},
	},
}
