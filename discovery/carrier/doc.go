// SPDX-License-Identifier: Apache-2.0

// Package carrier is discoveryd, the discovery service that control planes carry, on port 50002.
//
// It is for the machines of its own cluster. Each call proves that the caller knows the cluster's secret: it has a MAC of a value that TLS
// derives for this connection alone, so a proof is of no use to anyone else. discoveryd knows a key that was derived from the secret, which
// checks proofs and decrypts nothing. A connection without a proven call is closed after some seconds, and there are limits for these.
//
// Like apid and trustd it is a process of its own, with its own user and no capabilities. The only resource that it sees is the
// one with its certificate. It may not write files, so it forgets everything when it ends. Machines publish themselves at every
// control plane, and keep what they know while one of them has forgotten it (package client).
package carrier
