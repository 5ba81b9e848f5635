// SPDX-License-Identifier: Apache-2.0

package image

import (
	"testing"

	"github.com/klauspost/compress/zstd"
)

func unpack(t *testing.T, b []byte) []byte {
	t.Helper()

	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()

	plain, err := d.DecodeAll(b, nil)
	if err != nil {
		t.Fatal(err)
	}

	return plain
}
