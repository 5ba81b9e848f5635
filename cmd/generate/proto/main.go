// SPDX-License-Identifier: Apache-2.0

// Command proto generates Go code for the .proto files in the current folder, next to each of them. It compiles the
// files itself and runs the two standard plugins at the versions in go.mod, so it needs no tool but Go.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	"github.com/seed-59268b81/talos/api/wire"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "proto:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	files, err := wire.Compile(ctx, os.DirFS("."))
	if err != nil {
		return err
	}

	request := newRequest(files)

	for _, plugin := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		if err := runPlugin(ctx, plugin, request); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}

	return nil
}

// newRequest returns a request to generate code for the files with a go_package. It includes all imported files, imports
// first.
func newRequest(files []protoreflect.FileDescriptor) *pluginpb.CodeGeneratorRequest {
	request := &pluginpb.CodeGeneratorRequest{Parameter: proto.String("paths=source_relative")}
	seen := map[string]bool{}

	var add func(file protoreflect.FileDescriptor)

	add = func(file protoreflect.FileDescriptor) {
		if seen[file.Path()] {
			return
		}

		seen[file.Path()] = true

		for i := range file.Imports().Len() {
			add(file.Imports().Get(i).FileDescriptor)
		}

		request.ProtoFile = append(request.ProtoFile, protoutil.ProtoFromFileDescriptor(file))
	}

	for _, file := range files {
		options, _ := file.Options().(*descriptorpb.FileOptions)
		if options.GetGoPackage() == "" {
			continue
		}

		add(file)

		request.FileToGenerate = append(request.FileToGenerate, file.Path())
	}

	return request
}

func runPlugin(ctx context.Context, name string, request *pluginpb.CodeGeneratorRequest) error {
	input, err := proto.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}

	command := exec.CommandContext(ctx, "go", "tool", name)
	command.Stdin, command.Stderr = bytes.NewReader(input), os.Stderr

	output, err := command.Output()
	if err != nil {
		return err
	}

	var response pluginpb.CodeGeneratorResponse

	if err := proto.Unmarshal(output, &response); err != nil {
		return fmt.Errorf("decode response: %w", err)
	}

	if response.Error != nil {
		return fmt.Errorf("plugin: %s", response.GetError())
	}

	for _, file := range response.GetFile() {
		content := file.GetContent()
		if !strings.HasPrefix(content, "// SPDX-License-Identifier") {
			content = "// SPDX-License-Identifier: Apache-2.0\n\n" + content
		}

		if err := os.WriteFile(filepath.FromSlash(file.GetName()), []byte(content), 0o644); err != nil {
			return err
		}
	}

	return nil
}
