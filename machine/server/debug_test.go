// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/service/container"
)

func runRequest(spec *machine.DebugContainerRunRequestSpec) *machine.DebugContainerRunRequest {
	return &machine.DebugContainerRunRequest{Request: &machine.DebugContainerRunRequest_Spec{Spec: spec}}
}

func typedRequest(text string) *machine.DebugContainerRunRequest {
	return &machine.DebugContainerRunRequest{Request: &machine.DebugContainerRunRequest_StdinData{StdinData: []byte(text)}}
}

func signalRequest(signal int32) *machine.DebugContainerRunRequest {
	return &machine.DebugContainerRunRequest{Request: &machine.DebugContainerRunRequest_Signal{Signal: signal}}
}

func sizeRequest(width, height int32) *machine.DebugContainerRunRequest {
	return &machine.DebugContainerRunRequest{Request: &machine.DebugContainerRunRequest_TermResize{
		TermResize: &machine.DebugContainerTerminalResize{Width: width, Height: height},
	}}
}

func TestDebugSpec(t *testing.T) {
	const privileged, namespaces = machine.DebugContainerRunRequestSpec_PROFILE_PRIVILEGED, machine.DebugContainerRunRequestSpec_PROFILE_HOST_NS

	for _, tt := range []struct {
		name  string
		first *machine.DebugContainerRunRequest
		want  *container.Interactive
		err   string
	}{
		{
			name: "privileged", first: runRequest(&machine.DebugContainerRunRequestSpec{
				ImageName: "i", Args: []string{"sh", ""}, Env: map[string]string{"A": "b=c"}, Profile: privileged, Tty: true,
			}),
			want: &container.Interactive{Image: "i", Args: []string{"sh", ""}, Env: []string{"A=b=c"}, Privileged: true, Terminal: true},
		},
		{
			name: "namespaces", first: runRequest(&machine.DebugContainerRunRequestSpec{ImageName: "i", Profile: namespaces}),
			want: &container.Interactive{Image: "i"},
		},
		{name: "input first", first: typedRequest("x"), err: "the first message must describe the container"},
		{name: "nothing", first: &machine.DebugContainerRunRequest{}, err: "the first message must describe the container"},
		{name: "no profile", first: runRequest(&machine.DebugContainerRunRequestSpec{ImageName: "i"}), err: "profile 0 is unknown"},
		{
			name: "bad variable", err: `"A=B" is not a valid name`,
			first: runRequest(&machine.DebugContainerRunRequestSpec{Env: map[string]string{"A=B": "c"}, Profile: namespaces}),
		},
		{
			name: "bad argument", err: "contains a zero byte",
			first: runRequest(&machine.DebugContainerRunRequestSpec{Args: []string{"a\x00b"}, Profile: namespaces}),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := debugSpec(tt.first)

			switch {
			case tt.err == "":
				if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(container.Interactive{})); diff != "" || err != nil {
					t.Errorf("got %v (-want +got):\n%s", err, diff)
				}
			case status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), tt.err):
				t.Errorf("got %v, want InvalidArgument with %q", err, tt.err)
			}
		})
	}
}

// calling is the sending side of a debug call.
type calling struct {
	debugStream

	messages []*machine.DebugContainerRunRequest
}

func (c *calling) Recv() (*machine.DebugContainerRunRequest, error) {
	if len(c.messages) == 0 {
		return nil, io.EOF
	}

	next := c.messages[0]
	c.messages = c.messages[1:]

	return next, nil
}

// TestDebugMessages: messages of a caller are passed on, also the end of its input. Messages that are not valid are refused.
func TestDebugMessages(t *testing.T) {
	for _, tt := range []struct {
		name     string
		messages []*machine.DebugContainerRunRequest
		typed    string
		received []string
		err      string
	}{
		{
			name:     "all kinds",
			messages: []*machine.DebugContainerRunRequest{sizeRequest(80, 24), typedRequest("ls\n"), signalRequest(2), typedRequest("exit\n"), sizeRequest(0, 65535)},
			typed:    "ls\nexit\n", received: []string{"80x24", "interrupt", "0x65535"},
		},
		{name: "nothing"},
		{name: "no signal", messages: []*machine.DebugContainerRunRequest{signalRequest(0)}, err: "signal 0 is out of range"},
		{name: "a signal out of range", messages: []*machine.DebugContainerRunRequest{typedRequest("x"), signalRequest(65)}, typed: "x", err: "signal 65 is out of range"},
		{name: "a size out of range", messages: []*machine.DebugContainerRunRequest{sizeRequest(65536, 1)}, err: "a terminal of 65536 by 1"},
		{name: "a size below", messages: []*machine.DebugContainerRunRequest{sizeRequest(1, -1)}, err: "a terminal of 1 by -1"},
		{name: "a second spec", messages: []*machine.DebugContainerRunRequest{runRequest(nil)}, err: "after the first: want input, a signal or a size"},
		{name: "nothing in it", messages: []*machine.DebugContainerRunRequest{{}}, err: "after the first: want input, a signal or a size"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()

				a := newAttached(ctx)

				var typed bytes.Buffer

				input := make(chan error, 1)
				go func() { _, err := io.Copy(&typed, a.input); input <- err }()

				ended := make(chan error, 1)
				go func() { ended <- a.receive(&calling{messages: tt.messages}) }()

				var received []string

				for range tt.received {
					select {
					case signal := <-a.signals:
						received = append(received, signal.String())
					case size := <-a.sizes:
						received = append(received, fmt.Sprintf("%dx%d", size.Width, size.Height))
					}
				}

				synctest.Wait()

				var err error

				if tt.err == "" {
					if err := <-input; err != nil {
						t.Errorf("input: got %v, want its end", err)
					}

					cancel() // The container has ended.
				}

				if err = <-ended; tt.err == "" && err != nil || tt.err != "" && !strings.Contains(fmt.Sprint(err), tt.err) {
					t.Errorf("got %v, want an error with %q", err, tt.err)
				}

				a.input.Close()
				synctest.Wait()

				if diff := cmp.Diff(tt.received, received); diff != "" || typed.String() != tt.typed {
					t.Errorf("got input %q, want %q; received (-want +got):\n%s", typed.String(), tt.typed, diff)
				}
			})
		})
	}
}
