// SPDX-License-Identifier: Apache-2.0

//go:build linux

package podimages

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// serve runs a server at a socket until the test ends.
func serve(t *testing.T, socket string, options ...grpc.ServerOption) {
	t.Helper()

	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}

	server, served := grpc.NewServer(options...), make(chan error, 1)

	go func() { served <- server.Serve(l) }()

	t.Cleanup(func() {
		server.Stop()

		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// TestForward passes a call on to a containerd that waits for the end of the requests.
func TestForward(t *testing.T) {
	dir := t.TempDir()
	containerd, socket := filepath.Join(dir, "containerd"), filepath.Join(dir, "images")
	ended := make(chan error, 1)

	serve(t, containerd, grpc.ForceServerCodecV2(codec{}), grpc.UnknownServiceHandler(func(_ any, in grpc.ServerStream) error {
		var message []byte

		for {
			if err := in.RecvMsg(&message); err != nil {
				ended <- in.Context().Err()

				return in.SendMsg(&message)
			}
		}
	}))

	images := &Server{Containerd: containerd, Log: slog.New(slog.DiscardHandler)}
	serve(t, socket, images.Options()...)

	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	call := func(request []byte) ([]byte, error) {
		var response []byte

		err := conn.Invoke(ctx, service+"ImageStatus", &request, &response, grpc.ForceCodecV2(codec{}))

		return response, err
	}

	if response, err := call([]byte("request")); err != nil || string(response) != "request" {
		t.Errorf("got %q, %v, want the request", response, err)
	}

	if err := <-ended; err != nil {
		t.Errorf("containerd: got %v, want the end of the requests", err)
	}

	// gRPC cancels a call of which it cannot receive a request, and with it the one to containerd.
	if _, err := call(make([]byte, maxMessage+1)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a large request: got %v, want %v", err, codes.ResourceExhausted)
	}

	select {
	case err := <-ended:
		if err == nil {
			t.Error("containerd: got the end of the requests, want that the call is canceled")
		}
	case <-ctx.Done():
		t.Error("containerd waits for the rest")
	}
}
