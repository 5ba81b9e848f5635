// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRowsWaitAMoment: nodes of a table answer at different times.
func TestRowsWaitAMoment(t *testing.T) {
	nodes := []Node{{Name: "a"}, {Name: "node-b"}, {Name: "the-node-c"}, {Name: "d"}}

	for _, tt := range []struct {
		name string
		// answers are when the nodes answer, in milliseconds; 0 is a failure.
		answers []int
		want    []string // the writes, with the milliseconds of their time
	}{
		{"all soon", []int{300, 100, 200, 400}, []string{
			"400 NODE         X\na            1\nnode-b       1\nthe-node-c   1\nd            1\n",
		}},
		{"two soon, one late, one that fails", []int{100, 5000, 50, 0}, []string{
			"1050 NODE         X\na            1\nthe-node-c   1\n",
			"5000 node-b       1\n",
		}},
		{"a longer one late", []int{100, 200, 5000, 0}, []string{
			"1100 NODE     X\na        1\nnode-b   1\n",
			"5000 the-node-c   1\n",
		}},
		{"one, the others fail", []int{0, 200, 0, 0}, []string{"200 NODE     X\nnode-b   1\n"}},
		{"all fail", []int{0, 0, 0, 0}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var writes []string

				began := time.Now()
				out := NewTable(tableWriter(func(p []byte) (int, error) {
					writes = append(writes, fmt.Sprintf("%d %s", time.Since(began).Milliseconds(), p))

					return len(p), nil
				}), "NODE", "X")

				out.expect(nodes)

				err := atOnce(t.Context(), nodes, func(_ context.Context, n Node) error {
					after := tt.answers[slices.IndexFunc(nodes, func(other Node) bool { return other.Name == n.Name })]
					time.Sleep(time.Duration(after) * time.Millisecond)

					if after == 0 {
						return out.answered(n)
					}

					return errors.Join(out.Print([]string{n.Name, "1"}), out.answered(n))
				})
				if err != nil {
					t.Error(err)
				}

				if diff := cmp.Diff(tt.want, writes); diff != "" {
					t.Errorf("writes (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestTableThatCannotBePrinted: a closed pipe is an error, also for rows that waited.
func TestTableThatCannotBePrinted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := []Node{{Name: "a"}, {Name: "b"}}
		out := NewTable(tableWriter(func([]byte) (int, error) { return 0, io.ErrClosedPipe }), "NODE")
		out.expect(nodes)

		if err := out.Print([]string{"a"}); err != nil {
			t.Errorf("before anything is written: got %v", err)
		}

		time.Sleep(2 * gathering)

		if err := out.answered(nodes[0]); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v, want %v", err, io.ErrClosedPipe)
		}
	})
}

type tableWriter func(p []byte) (int, error)

func (f tableWriter) Write(p []byte) (int, error) { return f(p) }
