// SPDX-License-Identifier: Apache-2.0

// Package secrets holds the controllers of keys and certificates.
//
// Roots are copied from the machine configuration; names and addresses are collected into CertSANs; leaf certificates are issued from
// both, by pure functions. A certificate that still fits (same authority, subject, names and usages, not past half of its life) is
// kept byte for byte, so that a change of inputs that changes no certificate ends here. A change of the hostname reaches apid and
// the API server without a reboot.
package secrets
