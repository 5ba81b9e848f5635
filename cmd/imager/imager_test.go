// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// invoke runs the command with a standard input, and returns its output.
func invoke(t *testing.T, in string, args ...string) (string, error) {
	t.Helper()

	var out strings.Builder

	err := run(t.Context(), args, strings.NewReader(in), &out, io.Discard)

	return out.String(), err
}

func TestPrint(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(config, []byte("machine:\n  type: worker\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	got, err := invoke(t, "", "nocloud", "--extra-kernel-arg", "a", "--extra-kernel-arg=b=1,2", "--meta", "0xc=x=y", "--disk-format", "qcow2",
		"--image-disk-size", "8GiB", "--embedded-config-path", config, "--print")
	if err != nil {
		t.Fatal(err)
	}

	const want = `baseProfileName: nocloud
arch: amd64
platform: nocloud
customization:
    extraKernelArgs:
        - a
        - b=1,2
    metaContents:
        - key: 12
          value: x=y
    embeddedMachineConfiguration: |
        machine:
          type: worker
output:
    kind: image
    outFormat: raw
    imageOptions:
        diskSize: 8589934592
        diskFormat: qcow2
`
	if normal := strings.ReplaceAll(got, "    ", "  "); normal != strings.ReplaceAll(want, "    ", "  ") {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}

	// What is printed is a profile, and flags change it.
	again, err := invoke(t, got, "-", "--print", "--extra-kernel-arg", "c")
	if err != nil || strings.Replace(again, "- c\n", "", 1) == again {
		t.Errorf("read again: %v:\n%s", err, again)
	}
}

func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		in   string
		args []string
		want string
	}{
		"no profile":         {"", nil, "want one profile, got 0: choose one of akamai"},
		"two profiles":       {"", []string{"metal", "iso"}, "want one profile, got 2"},
		"unknown profile":    {"", []string{"moon"}, `there is no profile "moon": choose one of akamai`},
		"unknown flag":       {"", []string{"metal", "--moon"}, "unknown flag: --moon"},
		"size":               {"", []string{"metal", "--image-disk-size", "8"}, `size "8": want a number and a unit`},
		"a size of nothing":  {"", []string{"metal", "--image-disk-size", "0GiB"}, "want a number and a unit"},
		"META":               {"", []string{"metal", "--meta", "x"}, `value of META "x": want key=value`},
		"a large key":        {"", []string{"metal", "--meta", "256=x"}, `value of META "256=x"`},
		"no configuration":   {"", []string{"metal", "--embedded-config-path", "/nonexistent"}, "embedded configuration: open /nonexistent"},
		"empty":              {"", []string{"metal", "--embedded-config-path", "/dev/null"}, "/dev/null is empty"},
		"no standard input":  {"", []string{"-"}, "profile: it is empty"},
		"a key that is none": {"baseProfileName: metal\nsize: 3\n", []string{"-"}, "size"},
		"nothing is built":   {"", []string{"metal", "--input", "/nonexistent"}, "is missing: run make build first"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := invoke(t, test.in, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// command is a command of docs/images.md.
var command = regexp.MustCompile(`(?m)^ +\$ out/bin/imager (.*)$`)

// TestPage runs the commands of docs/images.md as far as the profile: the page's files are those of the test.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/images.md")
	if err != nil {
		t.Fatal(err)
	}

	found := command.FindAllStringSubmatch(string(text), -1)
	if len(found) < 6 {
		t.Fatalf("got %d commands, want more", len(found))
	}

	t.Chdir(t.TempDir())

	_, profile, there := strings.Cut(string(text), "```yaml profile\n")
	if profile, _, _ = strings.Cut(profile, "```"); !there {
		t.Fatal("the page has no profile")
	}

	for name, content := range map[string]string{"controlplane.yaml": "machine:\n  type: worker\n", "profile.yaml": profile} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for _, m := range found {
		line, file, redirected := strings.Cut(m[1], " < ")
		in := ""

		if redirected {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}

			in = string(b)
		}

		if out, err := invoke(t, in, append(strings.Fields(line), "--print")...); err != nil || !strings.Contains(out, "baseProfileName") {
			t.Errorf("imager %s: got %q, %v", m[1], out, err)
		}
	}
}
