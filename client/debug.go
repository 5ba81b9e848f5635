// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/seed-59268b81/talos/api/machine"
)

// DebugContainer is a container that runs with the caller's terminal attached.
type DebugContainer struct {
	stream machine.DebugService_ContainerRunClient
	// sending serializes sends.
	sending sync.Mutex
}

// RunDebugContainer starts a container from an image on the node. The container ends with the context.
func (c *Client) RunDebugContainer(ctx context.Context, spec *machine.DebugContainerRunRequestSpec) (*DebugContainer, error) {
	stream, err := c.Debug.ContainerRun(ctx)
	if err == nil {
		err = stream.Send(&machine.DebugContainerRunRequest{Request: &machine.DebugContainerRunRequest_Spec{Spec: spec}})
	}

	// After io.EOF, Recv returns the reason.
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("debug container: %w", err)
	}

	return &DebugContainer{stream: stream}, nil
}

// Resize sends the size of the terminal.
func (d *DebugContainer) Resize(width, height int) error {
	return d.send(&machine.DebugContainerRunRequest{Request: &machine.DebugContainerRunRequest_TermResize{
		TermResize: &machine.DebugContainerTerminalResize{Width: int32(width), Height: int32(height)},
	}})
}

// Input sends what was typed.
func (d *DebugContainer) Input(p []byte) error {
	return d.send(&machine.DebugContainerRunRequest{Request: &machine.DebugContainerRunRequest_StdinData{StdinData: p}})
}

func (d *DebugContainer) send(request *machine.DebugContainerRunRequest) error {
	d.sending.Lock()
	defer d.sending.Unlock()

	return d.stream.Send(request)
}

// CloseInput ends the input. Nothing can be sent after it.
func (d *DebugContainer) CloseInput() error {
	d.sending.Lock()
	defer d.sending.Unlock()

	return d.stream.CloseSend()
}

// Output writes what the container prints until it ends, and returns its exit status.
func (d *DebugContainer) Output(w io.Writer) (exitCode int, err error) {
	for {
		m, err := d.stream.Recv()

		switch {
		case errors.Is(err, io.EOF):
			return 0, errors.New("debug container: the node ended the stream without an exit status")
		case err != nil:
			return 0, fmt.Errorf("debug container: %w", err)
		}

		if end, ok := m.GetResponse().(*machine.DebugContainerRunResponse_ExitCode); ok {
			return int(end.ExitCode), nil
		}

		if _, err := w.Write(m.GetStdoutData()); err != nil {
			return 0, err
		}
	}
}
