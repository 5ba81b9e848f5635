// SPDX-License-Identifier: Apache-2.0

// Package wire compiles the .proto files of package api and prints their descriptors in a short form. The code generator and the
// test of the contract both use it, so neither needs protoc.
package wire

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"sort"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	// Linked for their descriptors, which the .proto files import.
	_ "google.golang.org/genproto/googleapis/api/expr/v1alpha1"
	_ "google.golang.org/genproto/googleapis/rpc/status"
)

// Compile compiles every .proto file in fsys, in order of path. Imports are found in fsys first, then among the
// descriptors linked into the program.
func Compile(ctx context.Context, fsys fs.FS) ([]protoreflect.FileDescriptor, error) {
	var paths []string

	err := fs.WalkDir(fsys, ".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".proto") {
			paths = append(paths, path)
		}

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find .proto files: %w", err)
	}

	sort.Strings(paths)

	compiler := protocompile.Compiler{
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{Accessor: func(path string) (io.ReadCloser, error) { return fsys.Open(path) }},
			protocompile.WithStandardImports(protocompile.ResolverFunc(linked)),
		},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}

	compiled, err := compiler.Compile(ctx, paths...)
	if err != nil {
		return nil, fmt.Errorf("compile .proto files: %w", err)
	}

	files := make([]protoreflect.FileDescriptor, len(compiled))
	for i, file := range compiled {
		files[i] = file
	}

	return files, nil
}

func linked(path string) (protocompile.SearchResult, error) {
	file, err := protoregistry.GlobalFiles.FindFileByPath(path)

	return protocompile.SearchResult{Desc: file}, err
}
