// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seed-59268b81/talos/api/machine"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/service/container"
)

type debugStream = grpc.BidiStreamingServer[machine.DebugContainerRunRequest, machine.DebugContainerRunResponse]

// debugService is machine.DebugService.
type debugService struct {
	machine.UnimplementedDebugServiceServer
	*Server
}

// lastSignal is the last real-time signal of Linux.
const lastSignal = 64

// ContainerRun implements machine.DebugService. The container lives as long as the call, and is attached to the caller's
// terminal or pipes.
func (s debugService) ContainerRun(stream debugStream) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}

	spec, err := debugSpec(first)
	if err != nil {
		return err
	}

	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)

	attached := newAttached(ctx)
	defer attached.input.Close()

	// It ends with the stream or with the container.
	guard.Go(func() error {
		cancel(guard.Call(func() error { return attached.receive(stream) }))

		return nil
	})

	spec.Stdin, spec.Signals, spec.Sizes = attached.input, attached.signals, attached.sizes
	spec.Output = sendWriter(func(p []byte) error { // a slow caller holds the container up
		return stream.Send(&machine.DebugContainerRunResponse{Response: &machine.DebugContainerRunResponse_StdoutData{StdoutData: p}})
	})

	err = s.withImages("debug", first.GetSpec().GetContainerd().GetNamespace(), func(images *container.Images) error {
		if spec.Image, err = container.Reference(spec.Image); err != nil {
			return err
		}

		code, err := images.RunInteractive(ctx, spec)
		if err != nil {
			return err
		}

		return stream.Send(&machine.DebugContainerRunResponse{
			Response: &machine.DebugContainerRunResponse_ExitCode{ExitCode: int32(min(code, math.MaxInt32))},
		})
	})

	// An invalid message ends the container: return the reason, not the consequence.
	if cause := context.Cause(ctx); status.Code(cause) == codes.InvalidArgument {
		return cause
	}

	return err
}

// debugSpec converts the first message of the call, which describes the container.
func debugSpec(first *machine.DebugContainerRunRequest) (*container.Interactive, error) {
	spec := first.GetSpec()
	if spec == nil {
		return nil, status.Error(codes.InvalidArgument, "debug: the first message must describe the container (spec)")
	}

	c := &container.Interactive{Image: spec.GetImageName(), Args: spec.GetArgs(), Terminal: spec.GetTty()}

	switch spec.GetProfile() {
	case machine.DebugContainerRunRequestSpec_PROFILE_PRIVILEGED:
		c.Privileged = true
	case machine.DebugContainerRunRequestSpec_PROFILE_HOST_NS:
	default:
		return nil, status.Errorf(codes.InvalidArgument, "debug: profile %d is unknown: want PROFILE_PRIVILEGED (1) or PROFILE_HOST_NS (2)", spec.GetProfile())
	}

	for name, value := range spec.GetEnv() {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return nil, status.Errorf(codes.InvalidArgument, "debug: %.200q is not a valid name and value of a variable", name)
		}

		c.Env = append(c.Env, name+"="+value)
	}

	for _, arg := range c.Args {
		if strings.Contains(arg, "\x00") {
			return nil, status.Errorf(codes.InvalidArgument, "debug: the argument %.200q contains a zero byte", arg)
		}
	}

	return c, nil
}

// attached is the caller's side: input, signals and the size of the terminal.
type attached struct {
	ctx     context.Context
	input   *io.PipeReader
	typed   *io.PipeWriter
	signals chan syscall.Signal
	sizes   chan container.Size
}

func newAttached(ctx context.Context) *attached {
	a := &attached{ctx: ctx, signals: make(chan syscall.Signal), sizes: make(chan container.Size)}
	a.input, a.typed = io.Pipe()

	return a
}

// receive passes on what the caller sends, as fast as the container reads it. It returns nil only when the container has
// ended.
func (a *attached) receive(stream debugStream) error {
	for {
		message, err := stream.Recv()

		switch {
		case errors.Is(err, io.EOF):
			a.typed.Close()

			<-a.ctx.Done()

			return nil
		case err != nil:
			return err
		}

		if err := a.pass(message); err != nil {
			return err
		}
	}
}

func (a *attached) pass(message *machine.DebugContainerRunRequest) error {
	switch request := message.GetRequest().(type) {
	case *machine.DebugContainerRunRequest_StdinData:
		if _, err := a.typed.Write(request.StdinData); err != nil && !errors.Is(err, io.ErrClosedPipe) {
			return err
		}
	case *machine.DebugContainerRunRequest_Signal:
		if request.Signal < 1 || request.Signal > lastSignal {
			return status.Errorf(codes.InvalidArgument, "debug: signal %d is out of range (1 to %d)", request.Signal, lastSignal)
		}

		select {
		case a.signals <- syscall.Signal(request.Signal):
		case <-a.ctx.Done():
		}
	case *machine.DebugContainerRunRequest_TermResize:
		width, height := request.TermResize.GetWidth(), request.TermResize.GetHeight()
		if width < 0 || height < 0 || width > math.MaxUint16 || height > math.MaxUint16 {
			return status.Errorf(codes.InvalidArgument, "debug: a terminal of %d by %d characters: want at most %d", width, height, math.MaxUint16)
		}

		select {
		case a.sizes <- container.Size{Width: uint32(width), Height: uint32(height)}:
		case <-a.ctx.Done():
		}
	default:
		return status.Errorf(codes.InvalidArgument, "debug: a message of %T after the first: want input, a signal or a size", request)
	}

	return nil
}
