// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTally(t *testing.T) {
	for _, tt := range []struct {
		name, events string
		failed       bool // go test's own exit
		want         string
	}{
		{"passes and skips", `
{"Action":"start","Package":"github.com/seed-59268b81/talos/a"}
{"Action":"run","Package":"github.com/seed-59268b81/talos/a","Test":"TestX"}
{"Action":"output","Package":"github.com/seed-59268b81/talos/a","Test":"TestX","Output":"=== RUN   TestX\n"}
{"Action":"pass","Package":"github.com/seed-59268b81/talos/a","Test":"TestX/sub","Elapsed":0}
{"Action":"pass","Package":"github.com/seed-59268b81/talos/a","Test":"TestX","Elapsed":0}
{"Action":"output","Package":"github.com/seed-59268b81/talos/a","Test":"TestY","Output":"=== RUN   TestY\n"}
{"Action":"output","Package":"github.com/seed-59268b81/talos/a","Test":"TestY","Output":"    y_test.go:7: needs root: run as root\n"}
{"Action":"output","Package":"github.com/seed-59268b81/talos/a","Test":"TestY","Output":"--- SKIP: TestY (0.00s)\n"}
{"Action":"skip","Package":"github.com/seed-59268b81/talos/a","Test":"TestY","Elapsed":0}
{"Action":"pass","Package":"github.com/seed-59268b81/talos/a","Elapsed":1.234}
{"Action":"skip","Package":"github.com/seed-59268b81/talos/b","Elapsed":0}
`, false, `
  0:00  ok    a                                           1.23s  2 passed, 1 skipped
  0:00  skipped 1: needs root: run as root
  0:00  packages without tests: 1
slowest packages:
     1.2s  a
2 passed, 0 failed, 1 skipped
`},
		{"a failure", `
{"Action":"output","Package":"a","Test":"TestX","Output":"    x_test.go:7: got 1, want 2\n"}
{"Action":"output","Package":"a","Test":"TestX","Output":"    x_test.go:9:      3.9s  shrinks to 1\n"}
{"Action":"fail","Package":"a","Test":"TestX","Elapsed":0}
{"Action":"output","Package":"a","Test":"TestOK","Output":"noise\n"}
{"Action":"pass","Package":"a","Test":"TestOK","Elapsed":0}
{"Action":"output","Package":"a","Output":"FAIL\n"}
{"Action":"fail","Package":"a","Elapsed":0.01}
`, true, `
  0:00  FAIL  a                                            10ms  1 passed, 1 failed
            x_test.go:7: got 1, want 2
            x_test.go:9:      3.9s  shrinks to 1
        FAIL
  0:00  packages without tests: 0
failed:
  a TestX
      x_test.go:7: got 1, want 2
1 passed, 1 failed, 0 skipped
`},
		{"a package that does not build", `
{"ImportPath":"a [a.test]","Action":"build-output","Output":"x.go:1: undefined: y\n"}
{"ImportPath":"a [a.test]","Action":"build-fail"}
{"Action":"output","Package":"a","Output":"FAIL\ta [build failed]\n"}
{"Action":"fail","Package":"a","Elapsed":0,"FailedBuild":"a [a.test]"}
`, true, `
x.go:1: undefined: y
  0:00  FAIL  a                                              0s  0 passed, 1 failed
        FAIL	a [build failed]
  0:00  packages without tests: 0
failed:
  a
0 passed, 1 failed, 0 skipped
`},
		{"a package that is cut off", `
{"Action":"output","Package":"a","Test":"TestX","Output":"=== RUN   TestX\n"}
not an event
`, true, `
not an event
  0:00  FAIL  a did not end
        === RUN   TestX
  0:00  packages without tests: 0
failed:
  a
0 passed, 1 failed, 0 skipped
`},
		{"nothing at all", "", true, `
  0:00  FAIL  go test failed without naming a test; see its output above
  0:00  packages without tests: 0
failed:
  go test
0 passed, 1 failed, 0 skipped
`},
		{"streamed", `
{"Action":"output","Package":"x/e2e","Test":"TestX","Output":"=== RUN   TestX\n"}
{"Action":"pass","Package":"x/e2e","Test":"TestX","Elapsed":0}
{"Action":"pass","Package":"x/e2e","Elapsed":0}
`, false, `
  0:00  === RUN   TestX
  0:00  ok    x/e2e                                          0s  1 passed
  0:00  packages without tests: 0
1 passed, 0 failed, 0 skipped
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer

			tally := newTally(&out)
			tally.live = "x/e2e"
			tally.since = func() time.Duration { return 0 }

			if err := tally.read(strings.NewReader(strings.TrimPrefix(tt.events, "\n"))); err != nil {
				t.Fatal(err)
			}

			tally.ends(tt.failed, 0)
			tally.finish()

			if d := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), out.String()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
