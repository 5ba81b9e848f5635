// SPDX-License-Identifier: Apache-2.0

package logsend

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/sys/kmsg"
)

var at = time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)

const stamp = `"talos-time":"2026-03-04T05:06:07.000008Z"`

func TestOfService(t *testing.T) {
	for _, tt := range []struct {
		name, service, line string
		tags                map[string]string
		want                string
	}{
		{"plain", "etcd", "starting", nil, `{"msg":"starting","talos-level":"info","talos-service":"etcd",` + stamp + `}`},
		{
			"machined", "machined", "2026-01-02T03:04:05.678Z WARN  the clock is wrong by=1s", nil,
			`{"msg":"the clock is wrong by=1s","talos-level":"warn","talos-service":"machined","talos-time":"2026-01-02T03:04:05.678Z"}`,
		},
		{"the form of machined in another log", "apid", "2026-01-02T03:04:05.678Z x", nil, `{"msg":"2026-01-02T03:04:05.678Z x","talos-level":"info","talos-service":"apid",` + stamp + `}`},
		{"machined without a level", "machined", "2026-01-02T03:04:05.678Z", nil, `{"msg":"","talos-level":"info","talos-service":"machined","talos-time":"2026-01-02T03:04:05.678Z"}`},
		{"logfmt", "containerd", `time="…" level=error msg="no"`, nil, `{"msg":"time=\"…\" level=error msg=\"no\"","talos-level":"error","talos-service":"containerd",` + stamp + `}`},
		{"klog", "kubelet", "E0304 05:06:07.8 1 x.go:1] <no>", nil, `{"msg":"E0304 05:06:07.8 1 x.go:1] <no>","talos-level":"error","talos-service":"kubelet",` + stamp + `}`},
		{
			"JSON", "etcd", `{"level":"warn","ts":"2026","msg":"slow","took":12345678901234567890,"talos-service":"other"}`, nil,
			`{"msg":"slow","talos-level":"warn","talos-service":"etcd",` + stamp + `,"took":12345678901234567890,"ts":"2026"}`,
		},
		{"JSON without a text", "x", `{"severity":"FATAL"}`, nil, `{"msg":"{\"severity\":\"FATAL\"}","talos-level":"fatal","talos-service":"x",` + stamp + `}`},
		{"broken JSON", "x", `{"msg":`, nil, `{"msg":"{\"msg\":","talos-level":"info","talos-service":"x",` + stamp + `}`},
		{"two objects", "x", `{} {}`, nil, `{"msg":"{} {}","talos-level":"info","talos-service":"x",` + stamp + `}`},
		{"not a text", "x", "a\xffb", nil, `{"msg":"a�b","talos-level":"info","talos-service":"x",` + stamp + `}`},
		{
			"tags", "x", "y", map[string]string{"cluster": "lab", "msg": "no", "talos-service": "no"},
			`{"cluster":"lab","msg":"y","talos-level":"info","talos-service":"x",` + stamp + `}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := encode(OfService(tt.service, []byte(tt.line), at), tt.tags)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(tt.want+"\n", string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOfKernel(t *testing.T) {
	m := kmsg.Message{Facility: 3, Severity: 4, Sequence: 711, Since: 6252819 * time.Microsecond, Text: "out of paper"}

	got, err := encode(OfKernel(m, at), map[string]string{"rack": "7"})
	if err != nil {
		t.Fatal(err)
	}

	want := `{"clock":6252819,"facility":"daemon","msg":"out of paper","priority":"warning","rack":"7","seq":711,"talos-level":"warn","talos-time":"2026-03-04T05:06:13.252827Z"}`
	if string(got) != want+"\n" {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzOfService: whatever a service writes becomes one line that is a JSON object with the four fields.
func FuzzOfService(f *testing.F) {
	for _, line := range []string{"x", `{"msg":1,"level":2}`, `{"a":{"b":[1e999]}}`, "2026-01-02T03:04:05.678Z INFO x", "level=", "\xff\n"} {
		f.Add(line)
	}

	f.Fuzz(func(t *testing.T, text string) {
		got, err := encode(OfService(ownLog, []byte(text), at), map[string]string{"a": text})
		if err != nil {
			t.Fatal(err)
		}

		var fields Fields
		if err := json.Unmarshal(got, &fields); err != nil {
			// A number beyond the range of a float is valid JSON.
			if !json.Valid(got) {
				t.Fatalf("%s: %v", got, err)
			}

			return
		}

		for _, name := range []string{fieldMessage, fieldLevel, fieldService, fieldTime} {
			if _, ok := fields[name].(string); !ok {
				t.Errorf("%s: got %v", name, fields[name])
			}
		}

		if bytes.Count(got, []byte("\n")) != 1 {
			t.Errorf("got %q, want one line", got)
		}
	})
}
