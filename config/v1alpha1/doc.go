// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 defines the main document of the machine configuration as plain Go structs.
//
// It has no kind, and describes a machine and its cluster. The other documents, which have a kind and describe one thing each, are in
// config/documents. Every key that existing clients write at the 1.12 contract is here, also the superseded ones, so that their
// configurations decode strictly. Package config/effects lists the keys without effect.
//
// The structs have no validation, no I/O and no behavior other than defaults: config.Decode decodes them,
// config/validate checks them, config/generate generates them. Absent and zero are the same unless the field is
// a pointer. The order of fields is the order of keys in generated files.
//
// A strategic merge patch replaces fields marked merge:"replace" and does not append to them. It merges lists
// marked merge:"key=a,b" element by element, matched by the first of the named keys that is set.
//
// A field marked replaced:"1.14" is not generated or shown as an example from that contract on: documents, or other keys, take its place.
package v1alpha1
