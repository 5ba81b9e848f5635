// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cri

import (
	"context"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/cri/settings"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/test/registrytest"
)

// raw is a codec of encoded messages.
type raw struct{}

func (raw) Name() string                    { return "proto" }
func (raw) Marshal(v any) ([]byte, error)   { return *v.(*[]byte), nil }
func (raw) Unmarshal(b []byte, v any) error { *v.(*[]byte) = b; return nil }

// criPull asks containerd for an image as the kubelet does, without a pull secret.
func criPull(ctx context.Context, socket, image string) error {
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()

	spec := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), image)
	request := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), spec)

	var response []byte

	return conn.Invoke(ctx, "/runtime.v1.ImageService/PullImage", &request, &response, grpc.ForceCodec(raw{}))
}

// TestPodPull has the real containerd pull for a pod, with the files and the configuration of a machine: the CRI plugin reads the certificates in
// the hosts folder, and the login in containerd's configuration.
func TestPodPull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("containerd unpacks images as root only")
	}

	needBuilt(t, builtContainerd)

	r := startRegistry(t, registrytest.Access{Password: true, Certificate: true})

	for _, tt := range []struct{ name, documents, fails string }{
		{"all of it", r.authDocument(rightLogin) + r.tlsDocument(true), ""},
		{"a wrong login", r.authDocument(wrongLogin) + r.tlsDocument(true), "401 Unauthorized"},
		{"no authority", r.authDocument(rightLogin), "certificate signed by unknown authority"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			documents := tt.documents + r.mirrorDocument()

			cfg, err := config.Decode([]byte(documents + part))
			if err != nil {
				t.Fatal(err)
			}

			says, m := view.Of(cfg), newMachine(t, documents, "")
			customization := must(settings.Customization(says.ContainerdParts()))
			set := chosen{auths: settings.Registries(says.Registries(), "").RegistryAuths, customization: customization}

			containerd := runContainerd(t, place{snapshotter: container.Native}, set, func(config table) {
				images := config["plugins"].(table)["io.containerd.cri.v1.images"].(table)
				images["registry"].(table)["config_path"] = m.hosts()
			})
			defer containerd.stop()

			err = criPull(t.Context(), containerd.socket, "registry.test/test/image:1")
			if tt.fails == "" && err != nil || tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)) {
				t.Errorf("got %v, want %q", err, tt.fails)
			}
		})
	}
}

// part is a customization that containerd must accept. The pause image is not pinned: it is not there.
const part = "---\napiVersion: v1alpha1\nkind: CRICustomizationConfig\nname: 20-a\ncontent: |\n  [plugins.'io.containerd.cri.v1.images']\n  max_concurrent_downloads = 5\n"
