// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/config/configtest"
	"github.com/seed-59268b81/talos/config/generate"
	"github.com/seed-59268b81/talos/config/patch"
	"github.com/seed-59268b81/talos/config/validate"
	"github.com/seed-59268b81/talos/controllers/validation"
)

var (
	// block is a block of YAML in a page: a patch of a machine configuration.
	block = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	// elsewhere is a document of a configuration outside of such a block.
	elsewhere = regexp.MustCompile(`(?m)^\s*kind: \w+Config\s*$`)
	// mainKey is a key of the v1alpha1 document.
	mainKey = regexp.MustCompile(`(?m)^(machine|cluster):|path: /(machine|cluster)/`)
)

// TestPages applies each block of YAML in the documentation to the configuration of a control plane machine, as a machine would: nothing in
// it is wrong, unknown or without effect.
func TestPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}

	found := 0

	for _, page := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		if filepath.Base(page) == "configuration.md" {
			continue // generated from the examples of all kinds, which package generate applies
		}

		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}

		for _, b := range block.FindAllSubmatchIndex(text, -1) {
			found++

			for _, p := range problems(t, string(text[b[2]:b[3]])) {
				t.Errorf("%s:%d: %s", page, 1+bytes.Count(text[:b[2]], []byte("\n")), p)
			}
		}

		for _, line := range elsewhere.FindAll(block.ReplaceAll(text, nil), -1) {
			t.Errorf("%s: %s: want it in a block of YAML, which this test applies", page, bytes.TrimSpace(line))
		}
	}

	if found < 30 {
		t.Errorf("got %d blocks, want more", found)
	}
}

// incomplete are the examples of the reference that a machine accepts only with something else, by kind, with what it asks for.
var incomplete = map[string]string{
	"KubeCredentialProviderConfig": "mount a folder",
}

// TestReference applies the example of each kind of documents in the same way. What has no effect yet is said beside it.
func TestReference(t *testing.T) {
	for _, name := range config.Kinds() {
		kind, _ := config.KindOf(name)

		example := kind.Example
		if name == "HostnameConfig" {
			example += "auto: off\n" // the configuration has stable
		}

		for _, p := range problems(t, example) {
			if !expected.MatchString(p) && (incomplete[name] == "" || !strings.Contains(p, incomplete[name])) {
				t.Errorf("%s: %s", name, p)
			}
		}
	}
}

// expected are problems of examples: the reference says what has no effect yet, an example may be what is generated too, and one that is alone
// may leave a machine without a network.
var expected = regexp.MustCompile(`no effect|not implemented|changes nothing|ends DHCP|no other machine will reach the API`)

// TestPagesFail holds that TestPages finds what could be wrong in a block.
func TestPagesFail(t *testing.T) {
	for text, want := range map[string]string{
		"machine: {sysctls: {kernel.panic: '5'}}":                                   "",
		"[{op: add, path: /machine/sysctls, value: {kernel.panic: '5'}}]":           "",
		"apiVersion: v1alpha1\nkind: DHCPv4Config\nname: eth0\n":                    "",
		"apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\nmtuu: 1500\n":          "mtuu",
		"apiVersion: v1alpha1\nkind: DHCPv4Config\nname: eth0\nrouteMetric: many\n": "routeMetric",
		"apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\nmtu: 5\n":              "out of range",
		"apiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\n":                      "ends DHCP",
		"apiVersion: v1alpha1\nkind: KubeSpanConfig\nenabled: true\n":               "has no effect",
		"apiVersion: v1alpha1\nkind: KubeCoreDNSConfig\nenabled: true\n$patch: x\n": "$patch",
		"apiVersion: v1\nkind: Pod\n":                                               "Pod",
		"machine: {kubelet: {extraArgs: {cert-dir: x}}}":                            "cert-dir",
		"machine: {type: controlplane}":                                             "changes nothing",
	} {
		got := strings.Join(problems(t, text), "\n")
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// problems returns what a patch does to a configuration that it should not.
func problems(t *testing.T, text string) (found []string) {
	t.Helper()

	// From the newest contract on, documents take the place of keys of the v1alpha1 document.
	contract := generate.Newest
	if mainKey.MatchString(text) {
		contract = generate.Oldest
	}

	out, err := generate.New("demo", "https://192.0.2.10:6443", "", generate.Options{Secrets: configtest.Bundle(t), Contract: contract})
	if err != nil {
		t.Fatal(err)
	}

	loaded, err := patch.Load([]string{text})
	if err != nil {
		return []string{err.Error()}
	}

	patched, err := patch.Apply(out.ControlPlane, loaded...)
	if err != nil {
		return []string{err.Error()}
	}

	if bytes.Equal(patched, out.ControlPlane) {
		return []string{"it changes nothing"}
	}

	before := complaints(t, out.ControlPlane)

	for _, c := range complaints(t, patched) {
		if !slices.Contains(before, c) {
			found = append(found, c)
		}
	}

	return found
}

// complaints are the findings and warnings of a machine about a configuration.
func complaints(t *testing.T, text []byte) []string {
	t.Helper()

	cfg, err := config.Decode(text)
	if err != nil {
		return []string{err.Error()}
	}

	out, err := validation.Config(cfg, validate.Metal)

	var findings validate.Findings
	if err != nil && !errors.As(err, &findings) {
		t.Fatal(err)
	}

	for _, f := range findings {
		out = append(out, f.Error())
	}

	return out
}
