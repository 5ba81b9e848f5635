// SPDX-License-Identifier: Apache-2.0

package effects

// exception is a branch of keys of which the source does not tell the truth, with the reason.
type exception struct{ path, reason string }

// settled is what nothing reads and nobody need be warned of.
var settled = []exception{
	{"version", "it tells what the document is"},
	{"persist", "a configuration is always kept; false is warned of when it is checked"},
	{"cluster.id", "it is read with discovery, which has a warning of its own"},
	{"cluster.secret", "it is read with discovery, which has a warning of its own"},
	{"cluster.apiServer.disablePodSecurityPolicy", "Kubernetes has none any more; it is warned of when it is checked"},
	{"machine.features.rbac", "calls are always held against roles; false is warned of when it is checked"},
	{"machine.features.apidCheckExtKeyUsage", "certificates are always checked for their use"},
	{"machine.features.imageCache", "the image cache is always used"},
}

// without is what is read, and has no effect all the same.
var without = []exception{
	{"machine.features.diskQuotaSupport", "the kubelet is told of it, but the file system is mounted without project quotas"},
}
