// SPDX-License-Identifier: Apache-2.0

// Package patch changes the text of a machine configuration.
//
// A patch is either a partial configuration that is merged in (strategic merge), or a list of operations
// of RFC 6902 on the v1alpha1 document (JSON patch). Load takes what a person gave on the command line:
//
//	patches, err := patch.Load([]string{"@hostname.yaml", `[{"op": "replace", "path": "/machine/type", "value": "worker"}]`})
//	text, err := patch.Apply(text, patches...)
//
// Merging: documents match by kind and name, one that matches none is appended. Within a document objects
// and maps merge key by key; a list is appended to; a value replaces, unless it is "" or 0 or null; true
// and false always replace. The types of config/v1alpha1 mark the exceptions: lists and blobs that are
// replaced whole, and lists whose elements are matched by a key. "$patch: delete" in a document, under a
// key or in a list element deletes it; what is not there is deleted already.
//
// The work is done on YAML nodes, guided by those types, not on decoded values: comments and the order of
// keys outlive a patch, which they would not if the structs were encoded again. A patch is checked
// strictly by itself first, so that a mistake is reported with the line of the patch, and the result is
// decoded strictly after.
package patch
