// SPDX-License-Identifier: Apache-2.0

// Package k8s holds the controllers of Kubernetes on this node: settings from the machine configuration, the control
// plane's files and static pods, the kubelet, the bootstrap manifests, and the observed state of the cluster.
//
// Decisions are made in pure packages below: args (command lines), pods (static pods and their files), kubelet (its
// configuration and container), manifests (what a new cluster gets), nodeowner (labels and taints of the own Node).
// The controllers here move values between resources, files and the API server.
package k8s
