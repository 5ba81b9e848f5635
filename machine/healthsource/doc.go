// SPDX-License-Identifier: Apache-2.0

// Package healthsource reads from etcd and Kubernetes what the checks of package health need, with the keys in the state of a
// control plane node.
package healthsource
