// SPDX-License-Identifier: Apache-2.0

// Package patch patches the text of a machine configuration.
//
// A patch is either a partial configuration that is merged in (strategic merge), or a list of operations of
// RFC 6902 (JSON patch). Paths of a JSON patch begin in the v1alpha1 document, or with the kind of another one, and its name if the
// kind has names: /machine/type, /HostnameConfig/auto, /LinkConfig/eth0/mtu. Load parses the arguments of a command line:
//
//	patches, err := patch.Load([]string{"@hostname.yaml", `[{"op": "replace", "path": "/machine/type", "value": "worker"}]`})
//	text, err := patch.Apply(text, patches...)
//
// Merging: documents match by kind and name; a document without a match is appended. Within a document, objects
// and maps merge key by key, list elements are appended, and a value replaces the old one unless it is "", 0 or
// null. true and false always replace. The types of config/v1alpha1 mark the exceptions: lists and objects that
// are replaced as a whole, and lists whose elements match by a key. "$patch: delete" in a document, under a key
// or in a list element deletes it. It is not an error if there is nothing to delete.
//
// The package merges YAML nodes, guided by those types, and not decoded values: so comments and the order of
// keys remain. It checks each patch strictly first, so that errors have line numbers of the patch, and decodes
// the result strictly afterwards.
package patch
