// SPDX-License-Identifier: Apache-2.0

package effects

// exception is a branch of keys for which the source is misleading, with the reason.
type exception struct{ path, reason string }

// settled are the keys that no code reads and that need no warning.
var settled = []exception{
	{"version", "identifies the document"},
	{"persist", "a configuration is always stored; validation warns about false"},
	{"cluster.apiServer.disablePodSecurityPolicy", "Kubernetes removed pod security policies; validation warns about the key"},
	{"machine.features.rbac", "roles are always checked; validation warns about false"},
	{"machine.install.bootloader", "an installed disk always has a boot loader; validation warns about false"},
	{"machine.install.grubUseUKICmdline", "the arguments of the release always have effect; validation warns about false"},
	{"machine.features.apidCheckExtKeyUsage", "the key usage of certificates is always checked"},
}

// without are the keys that are read but have no effect.
var without = []exception{
	{"machine.features.diskQuotaSupport", "it is passed to the kubelet, but the file system is mounted without project quotas"},
}
