// SPDX-License-Identifier: Apache-2.0

// Package cluster has talosctl's commands for clusters of virtual machines and
// containers on this computer: create, destroy, show, logs, reboot, net.
//
// Machines and their network are package lab's, and lab/cluster makes a cluster
// of them; here are the flags, and what is printed.
//
// A cluster has a directory, named after it, in the one that --state names.
// When that is given, in the flag or the environment, the cluster is a matter of
// that directory alone and its talosconfig and kubeconfig are only there;
// otherwise they are also merged into the user's own, as users expect.
package cluster
