// SPDX-License-Identifier: Apache-2.0

package imager

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/seed-59268b81/talos/components/graph"
)

// sources of this package: an image is made again when what makes it changes.
//
//go:embed *.go cpio/*.go pe/*.go
var sources embed.FS

// recipe hashes the sources, without the tests.
var recipe = sync.OnceValues(func() (string, error) {
	h := sha256.New()

	err := fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}

		text, err := sources.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)

		return err
	})

	return hex.EncodeToString(h.Sum(nil)), err
})

// inputs of a step that are known before anything is built.
func inputs(values ...string) func(context.Context, graph.Results) ([]string, error) {
	return func(context.Context, graph.Results) ([]string, error) {
		r, err := recipe()

		return append(values, r), err
	}
}
