// SPDX-License-Identifier: Apache-2.0

package cgroups

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func archive(t testing.TB, files map[string]string) *bytes.Buffer {
	t.Helper()

	var b bytes.Buffer

	zip := gzip.NewWriter(&b)
	out := tar.NewWriter(zip)

	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(files[name]))}
		if strings.HasSuffix(name, "/") {
			header = &tar.Header{Typeflag: tar.TypeDir, Name: name}
		}

		if err := out.WriteHeader(header); err != nil {
			t.Fatal(err)
		}

		if _, err := out.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}

	if err := out.Close(); err != nil {
		t.Fatal(err)
	}

	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}

	return &b
}

var sample = map[string]string{
	"./":                              "",
	"cpu.stat":                        "usage_usec 300\nuser_usec 2000000\nsystem_usec 1000000\n",
	"init/cpu.stat":                   "usage_usec 150\nuser_usec 500000\nsystem_usec 1000000\nthrottled_usec 7\n",
	"init/cpu.max":                    "max 100000\n",
	"init/memory.current":             "1048576\n",
	"init/memory.min":                 "2097152\n",
	"init/memory.low":                 "0\n",
	"init/memory.peak":                "4194304\n",
	"init/memory.max":                 "max\n",
	"init/io.stat":                    "254:0 rbytes=1024 wbytes=0 rios=3 wios=0\n254:16 rbytes=1024 wbytes=2048 rios=1 wios=2\n",
	"init/io.pressure":                "some avg10=1.50 avg60=0.25 avg300=0.00 total=1500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
	"init/cgroup.procs":               "1\n22\n333\n",
	"kubepods/":                       "",
	"kubepods/pod1/0123/memory.max":   "1073741824\n",
	"kubepods/pod1/4567/cgroup.procs": "",
}

// text draws the table as plain lines.
func text(rows []Row) string {
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "%s | %s\n", row.Name, strings.Join(row.Cells, " | "))
	}

	return b.String()
}

func TestRows(t *testing.T) {
	for _, tt := range []struct{ preset, want string }{
		{"cpu", `. | unset | unset | unset | 2s | - | 1s | - | unset
├──init | unset | unset | max 100000 | 500ms | 25.00% | 1s | 100.00% | 7µs
└──kubepods | unset | unset | unset | unset | - | unset | - | unset
    └──kube-system/dns | unset | unset | unset | unset | - | unset | - | unset
        ├──coredns | unset | unset | unset | unset | - | unset | - | unset
        └──sandbox | unset | unset | unset | unset | - | unset | - | unset
`},
		{"memory", `. | unset | unset | unset | - | unset | unset | - | unset
├──init | 1.0 MiB | 4.0 MiB | 0 B | - | unset | 2.0 MiB | 50.00% | max
└──kubepods | unset | unset | unset | - | unset | unset | - | unset
    └──kube-system/dns | unset | unset | unset | - | unset | unset | - | unset
        ├──coredns | unset | unset | unset | - | unset | unset | - | 1.0 GiB
        └──sandbox | unset | unset | unset | - | unset | unset | - | unset
`},
		{"io", `. | unset | unset | unset | unset | unset | unset | unset
├──init | 2.0 KiB | 2.0 KiB | 4 | 2 | 1.50 | 0.25 | 1.5s
└──kubepods | unset | unset | unset | unset | unset | unset | unset
    └──kube-system/dns | unset | unset | unset | unset | unset | unset | unset
        ├──coredns | unset | unset | unset | unset | unset | unset | unset
        └──sandbox | unset | unset | unset | unset | unset | unset | unset
`},
		{"process", `. | unset | unset | unset | unset | unset
├──init | unset | unset | unset | 3 | unset
└──kubepods | unset | unset | unset | unset | unset
    └──kube-system/dns | unset | unset | unset | unset | unset
        ├──coredns | unset | unset | unset | unset | unset
        └──sandbox | unset | unset | unset | 0 | unset
`},
	} {
		t.Run(tt.preset, func(t *testing.T) {
			root, err := Read(archive(t, sample))
			if err != nil {
				t.Fatal(err)
			}

			root.Rename(map[string]string{"pod1": "kube-system/dns", "0123": "coredns", "4567": "sandbox"})

			schema, err := Preset(tt.preset)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(tt.want, text(schema.Rows(root))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPresets(t *testing.T) {
	if diff := cmp.Diff([]string{"cpu", "cpuset", "io", "memory", "process", "psi", "swap"}, Presets()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	for _, name := range Presets() {
		if _, err := Preset(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	if _, err := Preset("all"); err == nil || !strings.Contains(err.Error(), "want cpu, cpuset") {
		t.Errorf("got %v, want the names of the presets", err)
	}
}

// TestLines counts lines of any length.
func TestLines(t *testing.T) {
	root := newGroup(".")
	root.Files["io.stat"] = "254:0 rbytes=1024 wbytes=0\n254:16 rbytes=1024 wbytes=2048\n\n"

	schema, err := Parse([]byte("columns: [{name: Devices, file: io.stat, format: lines}]"))
	if err != nil {
		t.Fatal(err)
	}

	if got, want := text(schema.Rows(root)), ". | 2\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct{ name, text, err string }{
		{name: "one column", text: "columns: [{name: A, file: a}]"},
		{name: "empty", err: "schema"},
		{name: "no columns", text: "columns: []", err: "no columns"},
		{name: "unknown key", text: "columns: [{name: A, file: a, template: x}]", err: "template"},
		{name: "no name", text: "columns: [{file: a}]", err: "name is missing"},
		{name: "no file", text: "columns: [{name: A}]", err: "column 1 (A): file is missing"},
		{name: "format", text: "columns: [{name: A, file: a, format: liters}]", err: `format "liters" is unknown`},
		{name: "share of nothing", text: "columns: [{name: A, file: a, share: {}}]", err: "either of or parent"},
		{name: "share with format", text: "columns: [{name: A, file: a, format: bytes, share: {parent: true}}]", err: "a share has no format"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %v, want %q", err, tt.err)
			}
		})
	}
}

func TestReadBroken(t *testing.T) {
	whole := archive(t, sample).Bytes()
	deep := archive(t, map[string]string{strings.Repeat("a/", 100) + "f": "1"}).Bytes()

	for name, content := range map[string][]byte{"empty": nil, "no archive": []byte("x"), "half": whole[:len(whole)/2], "deep": deep} {
		if _, err := Read(bytes.NewReader(content)); err == nil || !strings.Contains(err.Error(), "read groups") {
			t.Errorf("%s: got %v, want an error", name, err)
		}
	}
}

func FuzzRows(f *testing.F) {
	f.Add("cpu.stat", "user_usec 1\n")
	f.Add("io.stat", "254:0 rbytes=99999999999999999999999999 wbytes=-1 rios=NaN wios=x")
	f.Add("io.pressure", "some total=1e300")
	f.Fuzz(func(t *testing.T, name, content string) {
		root := newGroup(".")
		root.at([]string{"a"}).Files[name] = content

		for _, preset := range Presets() {
			schema, err := Preset(preset)
			if err != nil {
				t.Fatal(err)
			}

			if rows := schema.Rows(root); len(rows) != 2 {
				t.Errorf("got %d rows", len(rows))
			}
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(archive(f, sample).Bytes())
	f.Fuzz(func(t *testing.T, content []byte) {
		if root, _ := Read(bytes.NewReader(content)); root == nil {
			t.Error("got no tree")
		}
	})
}
