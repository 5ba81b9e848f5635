// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// encodingSuffix is that of the name of a value with the encoding of another one.
const encodingSuffix = ".encoding"

// encodedUser is a value that may have the configuration, with its encoding beside it.
func encodedUser(path string) user {
	return user{path: path, beside: []string{path + encodingSuffix}, decode: func(docs documents, text []byte) ([]byte, error) {
		return decodeValue(text, docs.text(path+encodingSuffix))
	}}
}

// decodeValue decodes a value by the name of its encoding. Without a name, base64 is recognised by what it lacks: a document in YAML or
// JSON has a colon. In base64, gzip is recognised.
func decodeValue(text []byte, encoding string) ([]byte, error) {
	packed := false

	switch encoding {
	case "":
		if bytes.ContainsRune(text, ':') {
			return text, nil
		}
	case "base64", "b64":
	case "gzip+base64", "gz+b64":
		packed = true
	default:
		return nil, fmt.Errorf("encoding %q: want base64 or gzip+base64", shorten(encoding))
	}

	out, err := base64.StdEncoding.DecodeString(string(bytes.Join(bytes.Fields(text), nil)))
	if err != nil {
		return nil, fmt.Errorf("decode base64: %w", err)
	}

	if !packed && !bytes.HasPrefix(out, []byte{0x1f, 0x8b}) {
		return out, nil
	}

	return decompress(out)
}

// decompress decompresses gzip.
func decompress(text []byte) ([]byte, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("decompress gzip: %w", err)
	}

	out, err := io.ReadAll(io.LimitReader(unpacked, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("decompress gzip: %w", err)
	}

	if len(out) > maxDocument {
		return nil, fmt.Errorf("decompress gzip: more than %d MiB", maxDocument>>20)
	}

	return out, nil
}
