// SPDX-License-Identifier: Apache-2.0

package pressure

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()

	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}

		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRead(t *testing.T) {
	const info = "MemTotal:        1000 kB\nMemFree:          10 kB\nMemAvailable:     100 kB\n"

	for _, tt := range []struct {
		name, stalls, info string
		want               Sample
		fails              bool
	}{
		{
			"both lines", "some avg10=1.00 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=2500000\n", info,
			Sample{
				Pressure:  Pressure{Some: Stall{Avg10: 1, Total: 9 * time.Microsecond}, Full: Stall{Avg10: 0.5, Total: 2500 * time.Millisecond}},
				Available: 100 << 10, Total: 1000 << 10,
			}, false,
		},
		{"no line full", "some avg10=1.00 total=9\n", info, Sample{}, true},
		{"no total", "full avg10=1.00\n", info, Sample{}, true},
		{"no number", "full avg10=x avg60=0.00 avg300=0.00 total=9\n", info, Sample{}, true},
		{"no memory", "full avg10=1.00 total=9\n", "", Sample{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, map[string]string{"pressure/memory": tt.stalls, "meminfo": tt.info})

			got, err := Read(root)
			if got != tt.want || (err != nil) != tt.fails {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}

	if _, err := Read(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a kernel without the file: got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("some avg10=0.50 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=2500000\n")
	f.Add("full total=1 total=-1 avg10=NaN")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parse(text); err == nil && (p.Full.Total < 0 || p.Some.Total < 0) {
			t.Errorf("%q: got %+v", text, p)
		}
	})
}

func TestPods(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"kubepods/besteffort/pod6f1c-1/memory.stat":                          "anon 100\nfile 5\nshmem 20\n",
		"kubepods/besteffort/pod6f1c-1/memory.current":                       "130\n",
		"kubepods/besteffort/pod6f1c-1/memory.max":                           "max\n",
		"kubepods/burstable/pod0123456789abcdef0123456789abcdef/memory.stat": "anon 7\n",
		"kubepods/pod6f1c-2/memory.stat":                                     "anon 9\n",
		"kubepods/pod6f1c-3/cgroup.procs":                                    "",
		"kubepods/burstable/other/memory.stat":                               "anon 1\n",
		"podruntime/etcd/memory.stat":                                        "anon 1\n",
	})

	got, err := Pods(root)
	slices.SortFunc(got, func(a, b Pod) int { return cmp.Compare(a.Path, b.Path) })

	want := []Pod{
		{Path: "kubepods/besteffort/pod6f1c-1", Class: BestEffort, Used: 120, Memory: Memory{Current: new(uint64(130))}},
		{Path: "kubepods/burstable/pod0123456789abcdef0123456789abcdef", Class: Burstable, Static: true, Used: 7},
		{Path: "kubepods/pod6f1c-2", Class: Guaranteed, Used: 9},
	}
	if diff := gocmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}

	if got, err := Pods(t.TempDir()); err != nil || len(got) > 0 {
		t.Errorf("before the kubelet: got %v, %v", got, err)
	}
}

func TestUsages(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"kubepods/besteffort/memory.current":     "7\n",
		"kubepods/besteffort/memory.max":         "max\n",
		"kubepods/pod6f1c-2/memory.current":      "10\n",
		"kubepods/pod6f1c-3/memory.current":      "20\n",
		"kubepods/pod6f1c-3/memory.max":          "30\n",
		"kubepods/memory.current":                "100\n",
		"system/memory.pressure":                 "some avg10=1.50 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.50 avg60=0.25 avg300=0.00 total=4\n",
		"init/memory.pressure":                   "some avg10=0.50 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=1\n",
		"podruntime/memory.pressure":             "nothing",
		"kubepods/burstable/pod1/memory.current": "1\n",
	})

	want := map[Class]Usage{
		BestEffort: {Current: 7}, Burstable: {}, Guaranteed: {Current: 30, Max: 30}, PodRuntime: {},
		System: {Pressure: Pressure{
			Some: Stall{Avg10: 2, Total: 10 * time.Microsecond}, Full: Stall{Avg10: 1, Avg60: 0.25, Total: 5 * time.Microsecond},
		}},
	}
	if diff := gocmp.Diff(want, Usages(root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
