// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"os"
	"testing"

	"github.com/bufbuild/protocompile/protoutil"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"

	_ "github.com/seed-59268b81/talos/api/cluster"
	_ "github.com/seed-59268b81/talos/api/common"
	_ "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	_ "github.com/seed-59268b81/talos/api/discovery/client"
	_ "github.com/seed-59268b81/talos/api/discovery/server"
	_ "github.com/seed-59268b81/talos/api/events"
	_ "github.com/seed-59268b81/talos/api/inspect"
	_ "github.com/seed-59268b81/talos/api/machine"
	_ "github.com/seed-59268b81/talos/api/security"
	_ "github.com/seed-59268b81/talos/api/storage"
	_ "github.com/seed-59268b81/talos/api/time"
	_ "github.com/seed-59268b81/talos/api/trial"
	"github.com/seed-59268b81/talos/api/wire"
)

// TestGeneratedCodeIsCurrent compares the descriptors in the generated Go with the .proto files.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	files, err := wire.Compile(t.Context(), os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range files {
		options, _ := file.Options().(*descriptorpb.FileOptions)
		if options.GetGoPackage() == "" {
			continue
		}

		generated, err := protoregistry.GlobalFiles.FindFileByPath(file.Path())
		if err != nil {
			t.Errorf("%s: no generated Go is linked into this test: run go generate ./api, and import the package here", file.Path())

			continue
		}

		want := proto.CloneOf(protoutil.ProtoFromFileDescriptor(file))
		want.SourceCodeInfo = nil

		if diff := cmp.Diff(want, protodesc.ToFileDescriptorProto(generated), protocmp.Transform()); diff != "" {
			t.Errorf("%s: the generated Go is stale: run go generate ./api (-proto +generated):\n%s", file.Path(), diff)
		}
	}
}
