// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the documents of the machine configuration as plain Go structs.
//
// The main document (Config, no kind) describes a machine and its cluster whole; the other documents
// (HostnameConfig and its like) carry a kind and each describe one thing. Every key that existing
// clients write at the 1.12 contract is here, the superseded ones included, so that their
// configurations decode strictly. What a key does in this version is told by config/effects.
//
// The structs carry no behaviour but reading with defaults (Type, Endpoint port, subnets), no
// validation and no I/O: decoding is config.Decode, checking is config/validate, making is
// config/generate. Absent and zero are the same unless the field is a pointer. Field order is the
// order of keys in generated files.
//
// Fields marked merge:"replace" are not appended to by a strategic merge patch, and lists marked
// merge:"key=a,b" are merged element by element, matched by the first of the named keys that is set.
package v1alpha1
