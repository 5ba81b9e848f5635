// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/access"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/view"
	"github.com/seed-59268b81/talos/test/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

const endpoint = "https://10.5.0.2:6443"

// texts returns the configurations of all contracts.
func texts(t *testing.T, each func(t *testing.T, text string)) {
	t.Helper()

	for contract := generate.Oldest; contract <= generate.Newest; contract++ {
		out, err := generate.New("demo", endpoint, "", generate.Options{Contract: contract, Secrets: configtest.Bundle(t)})
		if err != nil {
			t.Fatal(err)
		}

		t.Run(contract.String()+" control plane", func(t *testing.T) { each(t, string(out.ControlPlane)) })
		t.Run(contract.String()+" worker", func(t *testing.T) { each(t, string(out.Worker)) })
	}
}

// same reports what the API needs and got does not have.
func same(t *testing.T, got *config.Config, text string) {
	t.Helper()

	cfg, err := config.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}

	has, want := view.Of(got), view.Of(cfg)
	if has.Endpoint().String() != endpoint || has.Type() != want.Type() || has.MachineToken() != want.MachineToken() ||
		!bytes.Equal(has.MachineCA().Crt, want.MachineCA().Crt) || !bytes.Equal(has.MachineCA().Key, want.MachineCA().Key) {
		t.Errorf("got %s of type %s, want %s of type %s, with its token and authority", has.Endpoint(), has.Type(), endpoint, want.Type())
	}
}

func TestEncode(t *testing.T) {
	texts(t, func(t *testing.T, text string) {
		cfg, err := access.DecodeStored([]byte(text))
		if err != nil {
			t.Fatal(err)
		}

		stored, err := access.Encode(cfg)
		if err != nil {
			t.Fatal(err)
		}

		got, err := access.Decode(stored)
		if err != nil {
			t.Fatal(err)
		}

		same(t, got, text)
	})
}

func TestSalvage(t *testing.T) {
	texts(t, func(t *testing.T, text string) {
		for name, newer := range map[string]string{
			"a newer key":               strings.Replace(text, "machine:", "machine:\n    newer: true", 1),
			"a newer document":          text + "---\napiVersion: v1alpha1\nkind: NewerConfig\n",
			"a newer document first":    "apiVersion: v1alpha1\nkind: NewerConfig\nendpoint: [1]\n---\n" + text,
			"a document cannot be read": text + "---\na: [",
		} {
			if _, err := access.DecodeStored([]byte(newer)); err == nil {
				t.Errorf("%s: got no error", name)
			}

			got, err := access.Salvage([]byte(newer))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}

			same(t, got, text)
		}
	})

	if _, err := access.Salvage([]byte("apiVersion: v1alpha1\nkind: HostnameConfig\n")); err == nil {
		t.Error("a text without a machine: got no error")
	}
}

// TestTruncated: a configuration of which the end is missing is not taken for a whole one, if something is missing that every machine has.
func TestTruncated(t *testing.T) {
	texts(t, func(t *testing.T, text string) {
		parts := strings.SplitAfter(text, "---\n")

		for i := range parts {
			short := strings.Join(parts[:i], "")

			cfg, err := access.DecodeStored([]byte(short))
			if err != nil {
				continue
			}

			if says := view.Of(cfg); says.Type().IsControlPlane() && len(parts) > 2 && !strings.Contains(short, "kind: KubeEtcdEncryptionConfig") {
				t.Errorf("with %d of %d documents: Secrets would not be encrypted", i, len(parts))
			}
		}
	})
}
