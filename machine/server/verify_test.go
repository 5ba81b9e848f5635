// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/common"
	"github.com/seed-59268b81/talos/api/contract"
	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/controllers/cri"
	"github.com/seed-59268b81/talos/install/trial"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/pki"
	"github.com/seed-59268b81/talos/service/container"
	"github.com/seed-59268b81/talos/service/imagerules"
	"github.com/seed-59268b81/talos/test/registrytest"
)

// ruled gives a machine rules by which images of registry.test must be signed, and all others are denied. It returns the key.
func ruled(t *testing.T, b *bench, documents string) *ecdsa.PrivateKey {
	t.Helper()

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}

	public, err := pki.EncodePublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()

	cfg, err := config.Decode([]byte(documents))
	if err != nil {
		t.Fatal(err)
	}

	hosts, credentials, err := cri.RegistryFiles(dir, view.Of(cfg))
	if err != nil {
		t.Fatal(err)
	}

	rules, err := imagerules.Rules{{Image: "registry.test/*", PublicKey: string(public)}, {Image: "*", Deny: true}}.Text()
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, filepath.Base(layout.ImageRules)), rules, 0o600); err != nil {
		t.Fatal(err)
	}

	b.Registries = container.Access{Hosts: hosts, Credentials: credentials, Cache: filepath.Join(dir, "cache")}

	return key
}

// TestVerifyImage asks about images of a real registry.
func TestVerifyImage(t *testing.T) {
	b := newBench(t)
	r := registrytest.Start(t, registrytest.Access{})
	key := ruled(t, b, "apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: registry.test\nendpoints: [{url: 'https://"+r.Host+"'}]\nskipFallback: true\n"+
		"---\napiVersion: v1alpha1\nkind: RegistryTLSConfig\nname: "+r.Host+"\nca: |\n  "+strings.ReplaceAll(strings.TrimSpace(string(r.CA.PEM.Crt)), "\n", "\n  ")+"\n")

	signed := registrytest.Random(t)
	r.Push(t, "signed", signed)
	r.Sign(t, "signed", signed, key)
	r.Push(t, "unsigned", registrytest.Random(t))

	digest, err := signed.Digest()
	if err != nil {
		t.Fatal(err)
	}

	client := machine.NewImageServiceClient(b.conn)

	for _, role := range []string{contract.RoleAdmin, contract.RoleReader, contract.RoleImageVerifier} {
		got, err := client.Verify(as(t.Context(), role), &machine.ImageServiceVerifyRequest{ImageRef: "registry.test/signed:1"})
		if want := "registry.test/signed@" + digest.String(); err != nil || !got.GetVerified() || got.GetDigestedImageRef() != want {
			t.Errorf("%s: got %v, %v, want %s", role, got, err, want)
		}
	}

	for image, want := range map[string]codes.Code{
		"registry.test/unsigned:1":  codes.FailedPrecondition,
		"other.test/signed:1":       codes.FailedPrecondition,
		"registry.test/not-there:1": codes.NotFound,
		"Not a reference":           codes.InvalidArgument,
	} {
		if got, err := client.Verify(as(t.Context(), contract.RoleReader), &machine.ImageServiceVerifyRequest{ImageRef: image}); status.Code(err) != want {
			t.Errorf("%s: got %v, %v, want %s", image, got, err, want)
		}
	}
}

// TestUpgradeUnsigned refuses a release that is not signed, and changes nothing.
func TestUpgradeUnsigned(t *testing.T) {
	b := newBench(t)
	b.Containerd = realContainerd(t)
	trials := &memoryTrials{}
	b.Loader, b.Trials = bootDisk(t), trials
	ctx := as(t.Context(), contract.RoleAdmin)

	// It is imported before there are rules.
	importArchive(ctx, t, b, archive(t, "v1.1.0", "amd64"))

	// A registry is asked, and does not answer.
	ruled(t, b, "apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: registry.test\nendpoints: [{url: 'http://127.0.0.1:1'}]\nskipFallback: true\n")

	stream, err := machine.NewLifecycleServiceClient(b.conn).Upgrade(ctx, &machine.LifecycleServiceUpgradeRequest{
		Containerd: system, Source: &machine.InstallArtifactsSource{ImageName: "registry.test/installer:v1.1.0"},
	})
	if err != nil {
		t.Fatal(err)
	}

	if m, err := stream.Recv(); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "it is not signed") {
		t.Errorf("got %v, %v, want an error about the signature", m, err)
	}

	if _, err := b.machine.Upgrade(ctx, &machine.UpgradeRequest{Image: "registry.test/installer:v1.1.0"}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("got %v", err)
	}

	if power := b.powerRequest(t); power != nil || trials.last.State != (trial.Record{}).State || trials.last.ID != "" {
		t.Errorf("something changes: %+v, %+v", power, trials.last)
	}

	// With the rules, it could not be imported either.
	importing, err := machine.NewImageServiceClient(b.conn).Import(ctx)
	if err != nil {
		t.Fatal(err)
	}

	if err := importing.Send(&machine.ImageServiceImportRequest{Request: &machine.ImageServiceImportRequest_Containerd{Containerd: system}}); err != nil {
		t.Fatal(err)
	}

	for content := bytes.NewReader(archive(t, "v1.1.0", "amd64")); ; {
		part := make([]byte, 32<<10)

		n, err := content.Read(part)
		if errors.Is(err, io.EOF) {
			break
		}

		if err := importing.Send(&machine.ImageServiceImportRequest{Request: &machine.ImageServiceImportRequest_ImageChunk{
			ImageChunk: &common.Data{Bytes: part[:n]},
		}}); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}

	if got, err := importing.CloseAndRecv(); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("got %v, %v, want %s", got, err, codes.FailedPrecondition)
	}
}
