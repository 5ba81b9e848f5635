// SPDX-License-Identifier: Apache-2.0

// Package generate generates the configurations of a new cluster.
//
//	out, err := generate.New("demo", "https://10.5.0.2:6443", "", generate.Options{Contract: generate.Accepted()})
//	out.ControlPlane, out.Worker   // texts of machine configurations
//	out.Talosconfig                // an administrator's client configuration
//	out.Secrets                    // input for later calls
//
// A contract is the release that reads a configuration. Up to 1.13 the documents are those that existing clients generate at the 1.12
// contract: the v1alpha1 document, which describes the whole machine, and a HostnameConfig. From 1.14 on the v1alpha1 document has only
// what no other document says, and some 20 to 30 documents have the rest. Both mean the same, except for what only documents can say.
// The same secrets give the same configurations.
package generate
