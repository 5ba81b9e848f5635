// SPDX-License-Identifier: Apache-2.0

// Package generate makes the configurations of a new cluster.
//
//	out, err := generate.New("demo", "https://10.5.0.2:6443", "", generate.Options{})
//	out.ControlPlane, out.Worker   // texts of machine configurations
//	out.Talosconfig                // an administrator's client configuration
//	out.Secrets                    // to make more later
//
// The documents are those that existing clients make at the 1.12 contract: the whole machine in the
// v1alpha1 document, and a HostnameConfig. The same secrets make the same configurations.
package generate
