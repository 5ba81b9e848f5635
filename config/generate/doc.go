// SPDX-License-Identifier: Apache-2.0

// Package generate generates the configurations of a new cluster.
//
//	out, err := generate.New("demo", "https://10.5.0.2:6443", "", generate.Options{})
//	out.ControlPlane, out.Worker   // texts of machine configurations
//	out.Talosconfig                // an administrator's client configuration
//	out.Secrets                    // input for later calls
//
// The documents are those that existing clients generate at the 1.12 contract: the v1alpha1 document, which
// describes the whole machine, and a HostnameConfig. The same secrets give the same configurations.
package generate
