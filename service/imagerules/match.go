// SPDX-License-Identifier: Apache-2.0

package imagerules

import "strings"

// Matches reports whether a pattern matches an image, by its complete name with tag or digest, such as docker.io/library/nginx:1. A * in the
// pattern is for any text, slashes included. Registries are the same in any case, and with or without the port of HTTPS.
func Matches(pattern, image string) bool {
	return glob(canonical(pattern), canonical(image))
}

// canonical returns a reference with its registry in lower case and without the default port.
func canonical(reference string) string {
	registry, rest, ok := strings.Cut(reference, "/")
	if !ok {
		return reference
	}

	return strings.TrimSuffix(strings.ToLower(registry), ":443") + "/" + rest
}

// glob matches a text with a pattern in which * is for any text. It takes no longer than the product of both lengths.
func glob(pattern, text string) bool {
	// After the last star that was seen: where the pattern goes on, and from where the text is tried.
	again, from, p, t := -1, 0, 0, 0

	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			p++
			again, from = p, t
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case again >= 0:
			from++
			p, t = again, from
		default:
			return false
		}
	}

	return strings.Trim(pattern[p:], "*") == ""
}
