// SPDX-License-Identifier: Apache-2.0

// Package secrets holds the controllers of keys and certificates.
//
// Roots are copied out of the machine configuration; names and addresses are collected into CertSANs; leaf
// certificates are issued from both. Each is pure: a certificate that still answers what is wanted of it (same
// authority, subject, names, usages, not past half of its life) is kept byte for byte, so that a wave of changes
// ends here when nothing changed, and a change of the hostname reaches apid and the API server with no reboot.
package secrets
