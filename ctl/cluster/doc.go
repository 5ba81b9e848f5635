// SPDX-License-Identifier: Apache-2.0

// Package cluster has talosctl's commands for clusters of virtual machines and containers on this computer: create, destroy, show, logs,
// reboot, net.
//
// Package lab runs the machines and their network, and lab/cluster creates a cluster of them. This package has the flags and the output.
//
// A cluster has a directory with its name in the directory of --state. If that is set, by the flag or the environment, the talosconfig and
// kubeconfig of the cluster are only in its directory. Otherwise they are also merged into the user's own files.
package cluster
