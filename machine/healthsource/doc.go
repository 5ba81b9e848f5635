// SPDX-License-Identifier: Apache-2.0

// Package healthsource asks etcd and Kubernetes, with the keys that a control plane node's state has, for what the checks
// of package health look at.
package healthsource
