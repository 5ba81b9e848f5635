// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	broken := errors.New("the node is gone")

	for _, tt := range []struct {
		name, in, want string
		err            error
	}{
		{name: "nothing"},
		{name: "lines", in: "one\n\ntwo\n", want: "n: one\nn: \nn: two\n"},
		{name: "without an end", in: "one\ntwo", want: "n: one\nn: two\n"},
		{name: "carriage returns are left", in: "one\r\n", want: "n: one\r\n"},
		{name: "as long as may be", in: long[1:] + "\n", want: "n: " + long[1:] + "\n"},
		{name: "longer", in: long + "y\nz\n", want: "n: " + long + "\nn: y\nn: z\n"},
		{name: "cut off", in: "one\ntw", want: "n: one\nn: tw\n", err: broken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var in io.Reader = strings.NewReader(tt.in)
			if tt.err != nil {
				in = io.MultiReader(in, iotest.ErrReader(tt.err))
			}

			var out bytes.Buffer

			if err := (NewLines(&out)).Copy("n", in); !errors.Is(err, tt.err) {
				t.Errorf("got %v, want %v", err, tt.err)
			}

			if out.String() != tt.want {
				t.Errorf("got %.200q, want %.200q", out.String(), tt.want)
			}
		})
	}
}
